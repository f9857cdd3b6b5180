"""Ends what a test run leaves behind when it is killed before it can clean up itself.

Runs as a process of its own. Each line on standard input is a process group to remember (`+4711`) or to
forget (`-4711`). The input ends when the run ends, however it ends: what is still remembered is then killed,
and the run's directory, the only argument, removed.
"""

import contextlib
import os
import shutil
import signal
import sys


def main() -> None:
    groups: set[int] = set()
    for line in sys.stdin:
        change = groups.add if line.startswith("+") else groups.discard
        change(int(line[1:]))
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
