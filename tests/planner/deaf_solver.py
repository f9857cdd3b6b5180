"""Solvers' processes that stop at some point of the conversation, for tests of those who talk to them."""

import sys
import time
from multiprocessing.connection import Connection

_SECONDS = 3600


def _main(fault: str, connection: Connection) -> None:
    if fault == "silent":
        time.sleep(_SECONDS)
    connection.send("loaded")
    if fault == "deaf":
        time.sleep(_SECONDS)
    connection.recv()
    if fault == "mute":
        time.sleep(_SECONDS)
    connection.send("ready")
    if fault == "stuck":  # in the middle of an answer: a length, and no more
        connection._send(b"\0\0\1\0half")  # type: ignore[attr-defined]
        time.sleep(_SECONDS)
    connection.send("answer")
    connection.send("done")
    time.sleep(_SECONDS)


if __name__ == "__main__":
    _main(sys.argv[1], Connection(int(sys.argv[2])))
