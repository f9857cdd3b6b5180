"""One line per record: JSON for collectors, plain text for a terminal."""

import json
import logging
import sys
import time
from typing import Literal, TextIO

Format = Literal["auto", "json", "text"]


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure(log_format: Format, level: str, stream: TextIO | None = None) -> None:
    """To standard error unless told; `auto` is text on a terminal and JSON elsewhere."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    if log_format == "json" or (log_format == "auto" and not stream.isatty()):
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    logging.getLogger("kubernetes").setLevel(logging.WARNING)
