"""The one-line probes that run inside the container, tried against a server on a free port."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.manifests.files import OVERLAYS, instruction, operations

SIDECAR = operations(OVERLAYS / "second-scheduler" / "sidecar.yaml")
COMMANDS = {
    "image": json.loads(instruction("HEALTHCHECK").split("CMD ")[1]),
    "liveness": SIDECAR["/spec/template/spec/initContainers/0/livenessProbe"]["exec"]["command"],
    "readiness": SIDECAR["/spec/template/spec/initContainers/0/readinessProbe"]["exec"]["command"],
}
PATHS = {"image": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}


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


def run(name: str, port: int) -> int:
    python, *command = (part.replace("8889", str(port)) for part in COMMANDS[name])
    assert python == "python"
    done = subprocess.run([sys.executable, *command], check=False, capture_output=True)  # noqa: S603  our own
    return done.returncode


@pytest.mark.parametrize("name", COMMANDS)
def test_probe_passes_when_its_path_is_healthy(name: str, server: ThreadingHTTPServer) -> None:
    Handler.healthy = {PATHS[name]}
    assert run(name, server.server_port) == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_probe_fails_when_its_path_is_not_healthy(name: str, server: ThreadingHTTPServer) -> None:
    Handler.healthy = {"/healthz", "/readyz"} - {PATHS[name]}
    assert run(name, server.server_port) == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_probe_fails_when_nobody_answers(name: str, server: ThreadingHTTPServer) -> None:
    server.server_close()
    assert run(name, server.server_port) == 1
