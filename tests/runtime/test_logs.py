import io
import json
import logging
from collections.abc import Iterator

import pytest

from tradewind.runtime import logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def test_json_lines_off_a_terminal() -> None:
    stream = io.StringIO()
    logs.configure("auto", "info", stream)
    logging.getLogger("extender.x").warning('node "%s" is odd\nindeed', "a")
    line = json.loads(stream.getvalue())
    assert line["level"] == "warning"
    assert line["message"] == 'node "a" is odd\nindeed'
    assert line["time"].endswith("Z")
    assert stream.getvalue().count("\n") == 1


def test_an_exception_stays_in_its_line() -> None:
    stream = io.StringIO()
    logs.configure("json", "info", stream)
    try:
        int("boom")
    except ValueError:
        logging.getLogger("extender.x").exception("failed")
    assert "ValueError: invalid literal" in json.loads(stream.getvalue())["exception"]


def test_text_when_asked_for_and_debug_hidden_by_default() -> None:
    stream = io.StringIO()
    logs.configure("text", "info", stream)
    logging.getLogger("extender.x").debug("hidden")
    logging.getLogger("extender.x").info("shown")
    assert stream.getvalue().endswith("INFO    shown\n")
    assert "hidden" not in stream.getvalue()
