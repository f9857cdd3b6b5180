"""The service as a process: real sockets, real TLS, real signals."""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.certs import Authority
from e2e.processes import free_port
from tradewind.cli.main import main
from tradewind.runtime.source import EXAMPLES

_DEADLINE_SECONDS = 60.0
_REQUEST = (EXAMPLES / "request.json").read_bytes()


class Process:
    def __init__(self, *arguments: str) -> None:
        environment = {
            k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "KUBERNETES_SERVICE_HOST"}
        } | {"HOME": "/no/such/home"}
        self.port, self.explain_port = free_port(), free_port()
        ports = ["--port", str(self.port), "--explain-port", str(self.explain_port)]
        self._process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-m", "tradewind", "serve", *ports, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_it_listens(self, port: int) -> None:
        def listens() -> bool:
            if self._process.poll() is not None:
                raise AssertionError(
                    f"it ended: {self._process.stderr.read() if self._process.stderr else ''}"
                )
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        eventually(listens)

    def children(self, module: str) -> list[int]:
        """Those that run the module: before exec a child is a copy of its parent, which waits for it."""
        tasks = Path(f"/proc/{self._process.pid}/task")
        found = [int(word) for each in tasks.glob("*/children") for word in each.read_text().split()]
        return [child for child in found if module.encode() in Path(f"/proc/{child}/cmdline").read_bytes()]

    def stop(self) -> tuple[int, str, str]:
        self._process.send_signal(signal.SIGTERM)
        output, errors = self._process.communicate(timeout=_DEADLINE_SECONDS)
        return self._process.returncode, output, errors


@contextmanager
def serving(*arguments: str) -> Iterator[Process]:
    process = Process(*arguments)
    try:
        process.wait_until_it_listens(process.port)
        yield process
    finally:
        if process._process.poll() is None:
            process.stop()


def eventually(condition: Any) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{condition} did not come true"
        time.sleep(0.05)


def ask(
    port: int, method: str, path: str, body: bytes = b"", context: ssl.SSLContext | None = None
) -> tuple[int, Any]:
    connection = (
        http.client.HTTPSConnection("localhost", port, context=context, timeout=_DEADLINE_SECONDS)
        if context
        else http.client.HTTPConnection("localhost", port, timeout=_DEADLINE_SECONDS)
    )
    try:
        connection.request(method, path, body or None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_without_a_cluster_it_serves_the_example_and_says_so() -> None:
    with serving() as process:
        status, answer = ask(process.port, "POST", "/filter", _REQUEST)
        assert status == 200
        assert answer["NodeNames"] == [
            "durable-a1",
            "durable-b1",
            "durable-big",
            "spot-a1",
            "spot-b2",
            "spot-c1",
        ]
        assert list(answer["FailedNodes"]) == ["spot-b1"]
        _, scores = ask(process.port, "POST", "/prioritize", _REQUEST)
        # spot-c1 is a little cheaper for this pod, 0.0169 $/h, not 0.0181, but likelier to vanish.
        assert [entry["Host"] for entry in scores if entry["Score"] == 10] == ["spot-a1"]
        code, output, _ = process.stop()
    assert code == 0
    assert "serves the example cluster" in output
    assert "to serve your cluster: --kubeconfig FILE" in output
    assert f"tradewind explain shop/checkout-0 --server http://127.0.0.1:{process.explain_port}\n" in output
    assert f"curl -s -d @{EXAMPLES / 'request.json'} http://127.0.0.1:{process.port}/prioritize" in output


def test_a_connection_is_kept_between_requests() -> None:
    with serving() as process:
        connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=_DEADLINE_SECONDS)
        connection.request("POST", "/filter", _REQUEST)
        connection.getresponse().read()
        first = connection.sock
        connection.request("POST", "/prioritize", _REQUEST)
        assert connection.getresponse().read()
        assert connection.sock is first
        connection.close()


def test_savings_under_way_keep_it_from_ending_no_longer_than_a_request() -> None:
    with serving() as process:
        process.wait_until_it_listens(process.explain_port)
        connection = http.client.HTTPConnection("127.0.0.1", process.explain_port, timeout=_DEADLINE_SECONDS)
        connection.request("GET", "/savings")
        eventually(lambda: process.children("tradewind.savings.solver"))
        (child,) = process.children("tradewind.savings.solver")
        os.kill(child, signal.SIGSTOP)  # it would take for ever
        code, *_ = process.stop()
        connection.close()
    assert code == 0
    assert not Path(f"/proc/{child}").exists()


def test_without_tls_it_listens_on_loopback_only() -> None:
    with serving() as process, socket.socket() as probe:
        probe.settimeout(1)
        address = socket.gethostbyname(socket.gethostname())
        if address.startswith("127."):
            address = "127.0.0.2"  # Linux answers on all of 127.0.0.0/8, a socket bound to 127.0.0.1 does not
        assert probe.connect_ex((address, process.port)) != 0


def test_a_port_in_use_is_an_error_that_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = subprocess.run(  # noqa: S603  our own program
            [
                sys.executable,
                "-m",
                "tradewind",
                "serve",
                "--port",
                str(port),
                "--cluster",
                str(EXAMPLES / "cluster.json"),
            ],
            capture_output=True,
            text=True,
            timeout=_DEADLINE_SECONDS,
            check=False,
        )
    assert result.returncode == 2
    assert f"port {port}" in result.stderr
    assert "Traceback" not in result.stderr


class Tls:
    """Certificate files that can be rotated under a running service."""

    def __init__(self, root: Path) -> None:
        self.cert, self.key, self.client_ca = root / "tls.crt", root / "tls.key", root / "ca.crt"

    def arguments(self) -> list[str]:
        files = {
            "--tls-cert-file": self.cert,
            "--tls-private-key-file": self.key,
            "--client-ca-file": self.client_ca,
        }
        return [str(part) for pair in files.items() for part in pair]

    def install(self, authority: Authority) -> None:
        pair = authority.server("tradewind", ["localhost"])
        self.cert.write_bytes(pair.cert.read_bytes())
        self.key.write_bytes(pair.key.read_bytes())
        self.client_ca.write_bytes(authority.cert.read_bytes())


def client(server_ca: Authority, client_ca: Authority | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(server_ca.cert))
    if client_ca is not None:
        pair = client_ca.client("kube-scheduler")
        context.load_cert_chain(pair.cert, pair.key)
    return context


def refused(port: int, context: ssl.SSLContext) -> bool:
    try:
        ask(port, "POST", "/filter", _REQUEST, context)
    except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
        return True
    return False


def test_only_clients_of_the_ca_may_call_the_verbs_and_rotated_files_are_picked_up(tmp_path: Path) -> None:
    old, new = Authority(tmp_path / "old", "old"), Authority(tmp_path / "new", "new")
    tls = Tls(tmp_path)
    tls.install(old)
    probe_port = free_port()
    with serving("--probe-port", str(probe_port), *tls.arguments()) as process:
        assert ask(process.port, "POST", "/filter", _REQUEST, client(old, old))[0] == 200
        assert refused(process.port, client(old, None))
        assert refused(process.port, client(old, new))
        assert ask(probe_port, "GET", "/readyz")[0] == 200
        assert ask(process.port, "GET", "/readyz", context=client(old, old))[0] == 404
        assert ask(probe_port, "POST", "/filter", _REQUEST)[0] in {404, 405}

        tls.install(new)
        eventually(lambda: not refused(process.port, client(new, new)))
        assert refused(process.port, client(new, old))


def test_half_a_certificate_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--tls-cert-file", "x"], ["--client-ca-file", "x"], ["--tls-private-key-file", "x"]):
        with pytest.raises(SystemExit) as ended:
            main(["serve", *arguments])
        assert ended.value.code == 2
        assert "--tls-private-key-file" in capsys.readouterr().err
