"""Where explain is served: on loopback, or with a guard; never beside the verbs or the probes."""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e.certs import Authority
from e2e.processes import free_port
from tests.cli.test_serve import _REQUEST, ask, eventually, serving
from tradewind.cli.main import main

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: there
clusters: [{{name: there, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
contexts: [{{name: there, context: {{cluster: there, user: me}}}}]
users: [{{name: me, user: {user}}}]
"""


def exposed_flags(root: Path, api_port: int) -> tuple[int, ssl.SSLContext, list[str]]:
    """The port, how to trust it, and the flags."""
    authority = Authority(root / "pki", "authority")
    pair, port, kubeconfig = authority.server("explain"), free_port(), root / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(port=api_port, user="{}"))
    flags = ["--kubeconfig", str(kubeconfig), "--expose-port", str(port), "--expose-host", "127.0.0.1"]
    flags += ["--expose-cert-file", str(pair.cert), "--expose-private-key-file", str(pair.key)]
    return port, ssl.create_default_context(cafile=str(authority.cert)), flags


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def explain(port: int, context: ssl.SSLContext, token: str) -> tuple[int, Any]:
    connection = http.client.HTTPSConnection("localhost", port, context=context, timeout=60)
    try:
        connection.request("GET", "/explain/shop/a", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_it_is_on_a_port_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    probe_port = free_port()
    with serving("--probe-port", str(probe_port)) as process:
        ask(process.port, "POST", "/filter", _REQUEST)
        eventually(lambda: ask(process.explain_port, "GET", "/explain/shop/checkout-0")[0] == 200)
        for port in (process.port, probe_port):
            assert ask(port, "GET", "/explain/shop/checkout-0") == (404, {"detail": "Not Found"})
            with pytest.raises(SystemExit):
                main(["explain", "shop/checkout-0", "--server", f"http://127.0.0.1:{port}"])
            assert "on a port of its own, 8890 by default" in capsys.readouterr().err
        assert ask(process.explain_port, "POST", "/filter", _REQUEST)[0] == 405
        assert ask(process.explain_port, "GET", "/metrics")[0] == 404


def test_without_an_api_server_nobody_is_let_in_and_the_verbs_go_on(tmp_path: Path) -> None:
    port, context, flags = exposed_flags(tmp_path, free_port())
    with serving(*flags) as process:
        eventually(lambda: accepts(port))
        status, said = explain(port, context, "a-token")
        assert (status, "not reviewed: the connection to the API server failed" in said["detail"]) == (
            503,
            True,
        )
        assert ask(process.port, "POST", "/filter", _REQUEST)[0] == 200
        assert ask(process.explain_port, "GET", "/explain/shop/a")[0] == 404  # loopback needs no review


@contextmanager
def silent_server() -> Iterator[int]:
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server.getsockname()[1]


def test_a_review_that_takes_long_keeps_no_verb_waiting(tmp_path: Path) -> None:
    with silent_server() as api_port:
        port, context, flags = exposed_flags(tmp_path, api_port)
        with serving(*flags) as process:
            eventually(lambda: accepts(port))  # it starts beside the verbs, in a thread of its own
            answers: list[int] = []
            waiting = [
                threading.Thread(target=lambda n=n: answers.append(explain(port, context, f"t-{n}")[0]))
                for n in range(8)
            ]
            for thread in waiting:
                thread.start()
            for _ in range(3):  # no more: a slow machine must be done long before the reviews are given up
                assert ask(process.port, "POST", "/filter", _REQUEST)[0] == 200
            assert answers == []  # the verbs were answered meanwhile
            for thread in waiting:
                thread.join()
            assert answers == [503] * 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--expose-host", "::"], "go with --expose-port"),
        (["--expose-cert-file", "x"], "go with --expose-port"),
        (["--expose-port", "1"], "--expose-port needs --expose-cert-file and --expose-private-key-file"),
        (["--expose-port", "1", "--expose-cert-file", "x"], "needs --expose-cert-file and --expose-private"),
        (
            ["--expose-port=1", "--expose-cert-file=x", "--expose-private-key-file=y", "--cluster=z"],
            "--expose-port needs a live cluster",
        ),
    ],
)
def test_half_an_exposure_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments])
    assert (ended.value.code, said in capsys.readouterr().err) == (2, True)


def test_the_example_cluster_has_nobody_to_say_who_may_ask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)
    _, _, flags = exposed_flags(tmp_path, 1)
    with pytest.raises(SystemExit):
        main(["serve", "--port=0", "--explain-port=0", *flags[2:]])
    assert "--expose-port needs a live cluster" in capsys.readouterr().err


def test_a_port_in_use_names_its_own_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit):
        main(["serve", "--port=0", f"--explain-port={taken.getsockname()[1]}"])
    assert "--explain-port chooses another" in capsys.readouterr().err


def test_manifests_may_expose_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from tradewind.cli.main import parser  # noqa: PLC0415  reads the environment when it declares

    monkeypatch.setenv("TRADEWIND_EXPOSE_PORT", "8891")
    monkeypatch.setenv("TRADEWIND_EXPOSE_CERT_FILE", "/c")
    monkeypatch.setenv("TRADEWIND_EXPOSE_PRIVATE_KEY_FILE", "/k")
    options = parser().parse_args(["serve"])
    assert (options.expose_port, options.expose_cert_file) == (8891, Path("/c"))
    assert options.expose_private_key_file == Path("/k")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--server", "http://127.0.0.1:1", "--token-file", "{token}"], "would get the token unencrypted"),
        (["--server", "https://127.0.0.1:1", "--kubeconfig", "{bare}"], "has no token"),
        (["--server", "https://127.0.0.1:1", "--kubeconfig", "{user}"], "no answer from https://127.0.0.1:1"),
        (["--server", "https://127.0.0.1:1", "--token-file", "/no/such"], "reading /no/such"),
        (["--server", "http://x", "--token-file", "x", "--kubeconfig", "y"], "one token is sent"),
        (["--token-file", "x"], "go with --server"),
        (["--ca-file", "x"], "go with --server"),
    ],
)
def test_a_token_is_sent_only_where_it_was_asked_for(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / name for name in ("token", "bare", "user")}
    files["token"].write_text("secret\n")
    files["bare"].write_text(KUBECONFIG.format(port=1, user="{}"))
    files["user"].write_text(KUBECONFIG.format(port=1, user="{token: secret}"))
    with pytest.raises(SystemExit):
        main(["explain", "a/b", *(word.format(**files) for word in arguments)])
    assert said in capsys.readouterr().err
