"""`explain` through kubectl: a stub says what kubectl says, and forwards to a real Tradewind."""

import json
import stat
from pathlib import Path

import pytest

from tests.cli.test_serve import _REQUEST, ask, serving
from tradewind.cli.main import main
from tradewind.cli.replicas import Kubectl

_STUB = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *"get pods"*) cat {pods} ;;
  *pod/silent*) echo "error: lost connection to pod" >&2; exit 1 ;;
  *pod/knows*) echo "Forwarding from 127.0.0.1:{knows} -> 8890"; exec sleep 60 ;;
  *) echo "Forwarding from 127.0.0.1:{other} -> 8890"; exec sleep 60 ;;
esac
"""


def pod(name: str, *, ready: bool) -> object:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {"metadata": {"name": name}, "status": {"conditions": [condition]}}


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "kubectl"


def install(program: Path, pods: list[object], knows: int = 1, other: int = 1) -> Path:
    listed, log = program.with_name("pods.json"), program.with_name("log")
    listed.write_text(json.dumps({"items": pods}))
    program.write_text(_STUB.format(pods=listed, log=log, knows=knows, other=other))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return log


def test_the_replica_that_has_decided_is_found(kubectl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as knows, serving() as other:
        ask(knows.port, "POST", "/filter", _REQUEST)
        ask(knows.port, "POST", "/prioritize", _REQUEST)
        ask(knows.port, "GET", "/healthz")  # by then, what was decided is written down
        pods = [
            pod("starting", ready=False),
            pod("silent", ready=True),
            pod("other", ready=True),
            pod("knows", ready=True),
        ]
        log = install(kubectl, pods, knows.explain_port, other.explain_port)
        main(["explain", "shop/checkout-0", "--kubeconfig", "k"])
        assert "shop/checkout-0" in capsys.readouterr().out
        forwarded = [line for line in log.read_text().splitlines() if "port-forward" in line]
        prefix = "--kubeconfig k --namespace tradewind-system port-forward pod/"
        assert forwarded == [f"{prefix}{name} :8890" for name in ("silent", "other", "knows")]

        with pytest.raises(SystemExit):
            main(["explain", "shop/nobody", "--kubeconfig", "k"])
        assert "(asked silent, other, knows)" in capsys.readouterr().err


def test_no_replica_is_ready(kubectl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(kubectl, [pod("starting", ready=False)])
    with pytest.raises(SystemExit):
        main(["explain", "shop/checkout-0", "--kubeconfig", "k"])
    assert "no replica of Tradewind is ready in namespace tradewind-system" in capsys.readouterr().err


def test_what_kubectl_says_is_passed_on(kubectl: Path) -> None:
    kubectl.write_text("#!/bin/sh\necho 'error: You must be logged in' >&2; exit 1")
    kubectl.chmod(0o755)
    with pytest.raises(Exception, match="You must be logged in"):
        Kubectl(None, "tradewind-system").ready_replicas()
