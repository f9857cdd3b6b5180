"""Flags that do not go together, standard input, and which cluster is found."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tradewind.cli.main import main
from tradewind.runtime.source import EXAMPLES

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve", "--cluster", "x", "--kubeconfig", "y"], "--cluster and --kubeconfig do not go together"),
        (["serve", "--cluster", "x", "--bind"], "--bind needs a live cluster: leave --cluster out"),
        (["serve", "--cluster", "x", "--learn"], "--learn needs a live cluster: leave --cluster out"),
        (["serve", "--probe-host", "::1"], "--probe-host needs --probe-port"),
        (["serve", "--config", "-"], "standard input is not one"),
        (["planner", "--config", "-"], "standard input is not one"),
        (["plan", "--cluster", "-", "--config", "-"], "standard input can be read once only"),
        (["explain", "a/b", "--cluster", "-", "--config", "-"], "standard input can be read once only"),
        (["explain", "a/b", "--cluster", "x", "--kubeconfig", "y"], "--cluster asks no server"),
        (["explain", "a/b", "--server", "x", "--kubeconfig", "y"], "--server and --kubeconfig do not go"),
        (["explain", "a/b", "--server", "x", "--config", "y"], "--config and --node go with --cluster"),
        (["release", "--namespace", "shop"], "pods of all namespaces are released"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refusal(arguments, capsys)


def run(arguments: list[str], stdin: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": ":".join(sys.path), "HOME": str(home or "/no/such/home"), "PATH": "/no/bin"}
    return subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-m", "tradewind", *arguments],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_dash_reads_standard_input() -> None:
    cluster = (EXAMPLES / "cluster.json").read_text()
    planned = run(["plan", "--cluster", "-", "-o", "json"], cluster)
    assert json.loads(planned.stdout)["placements"]
    told = run(["explain", "shop/checkout-0", "--cluster", "-"], cluster)
    assert told.returncode == 0, told.stderr
    assert "is valid" in run(["check-config", "-"], _HEAD).stdout
    assert "weights.price" in run(["check-config", "-"], _HEAD + "weights: {price: -1}").stderr


def test_a_table_beside_standard_input_is_looked_for_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.csv").write_text("instance_type,price\nm5.large,0.1\n")
    monkeypatch.chdir(tmp_path)
    done = run(["check-config", "-"], _HEAD + "market: {table: prices.csv}")
    assert done.returncode == 0, done.stderr


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: there
clusters: [{name: there, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: there, context: {cluster: there, user: me}}]
users: [{name: me, user: {}}]
"""


def test_release_finds_the_cluster_that_kubectl_uses(tmp_path: Path) -> None:
    done = run(["release"], "")
    assert (done.returncode, "there is no ~/.kube/config" in done.stderr) == (2, True)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(KUBECONFIG)
    done = run(["release"], "", home=tmp_path)
    assert done.returncode == 1  # it asked, and nobody is there
    assert "127.0.0.1" in done.stderr


def test_explain_goes_to_the_cluster_that_kubectl_uses(tmp_path: Path) -> None:
    done = run(["explain", "shop/checkout-0"], "")
    assert "--cluster a file to evaluate" in done.stderr
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(KUBECONFIG)
    assert "no kubectl on PATH" in run(["explain", "shop/checkout-0"], "", home=tmp_path).stderr


def test_the_planner_says_that_there_is_no_cluster() -> None:
    done = run(["planner"], "")
    assert (done.returncode, "no cluster: --kubeconfig or KUBECONFIG" in done.stderr) == (2, True)


def test_kubectl_calls_it_by_another_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-tradewind"])
    assert "usage: kubectl tradewind" in refusal(["explain"], capsys)


def test_errors_are_red_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for colour, said in (("", "\x1b[31mtradewind:\x1b[0m "), ("1", "tradewind: ")):
        screen = Terminal()
        monkeypatch.setenv("NO_COLOR", colour)
        monkeypatch.setattr(sys, "stderr", screen)
        with pytest.raises(SystemExit):
            main(["explain", "a/b", "--cluster", "/no/such/file"])
        assert screen.getvalue().startswith(said)
