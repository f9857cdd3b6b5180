"""What a terminal can show; everything that is read by a program stays as it is."""

import os
import shutil
import sys


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def complain(about: object, who: str = "tradewind:") -> None:
    """On standard error; in red on a terminal, unless NO_COLOR asks for none."""
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        who = f"\x1b[31m{who}\x1b[0m"
    print(f"{who} {about}", file=sys.stderr)
