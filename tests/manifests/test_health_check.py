"""The image's health check, which runs inside the container, tried against a server on a free port."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.manifests.files import instruction

_COMMAND = json.loads(instruction("HEALTHCHECK").split("CMD ")[1])


class Handler(BaseHTTPRequestHandler):
    healthy: set[str]

    def do_GET(self) -> None:
        self.send_response(200 if self.path in self.healthy else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(port: int) -> int:
    python, *command = (part.replace("8889", str(port)) for part in _COMMAND)
    assert python == "python"
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True)  # noqa: S603  our own
    return done.returncode


def test_image_is_healthy_when_the_service_is(server: ThreadingHTTPServer) -> None:
    Handler.healthy = {"/healthz"}
    assert run(server.server_port) == 0


def test_image_is_unhealthy_when_the_service_is_not(server: ThreadingHTTPServer) -> None:
    Handler.healthy = {"/readyz"}
    assert run(server.server_port) == 1


def test_image_is_unhealthy_when_nobody_answers(server: ThreadingHTTPServer) -> None:
    server.server_close()
    assert run(server.server_port) == 1
