"""Flags that do not go together, standard input, and which cluster is found."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tradewind.cli import completion
from tradewind.cli.main import main, parser
from tradewind.cli.terminal import terminal_width
from tradewind.runtime.source import EXAMPLES

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


def refusal(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err


_X509 = ["--tls-cert-file", "x", "--tls-private-key-file", "y"]
_EXPOSED = ["--expose-port", "1", "--expose-cert-file", "x", "--expose-private-key-file", "y"]
_CONFLICTS = [
    (["serve", "--cluster", "x", "--kubeconfig", "y"], "--cluster and --kubeconfig do not go together"),
    (["serve", "--cluster", "x", "--bind"], "--bind needs a live cluster: leave --cluster out"),
    (["serve", "--cluster", "x", "--learn"], "--learn needs a live cluster: leave --cluster out"),
    (["serve", "--cluster", "x", *_EXPOSED], "--expose-port needs a live cluster"),
    (["serve", "--probe-host", "::1"], "--probe-host needs --probe-port"),
    (["serve", "--client-ca-file", "x"], "--client-ca-file needs --tls-cert-file"),
    (["serve", *_X509[:2]], "--tls-cert-file and --tls-private-key-file go together"),
    (["serve", *_X509[2:]], "--tls-cert-file and --tls-private-key-file go together"),
    (["serve", *_EXPOSED[:2]], "--expose-port needs --expose-cert-file and --expose-private-key-file"),
    (["serve", *_EXPOSED[2:]], "go with --expose-port"),
    (["serve", "--expose-host", "::"], "go with --expose-port"),
    (["serve", "--config", "-"], "standard input is not one"),
    (["planner", "--config", "-"], "standard input is not one"),
    (["plan", "--cluster", "-", "--config", "-"], "standard input can be read once only"),
    (["check-config", "-", "--cluster", "x"], "the configuration is read twice"),
    (["explain", "a/b", "--cluster", "-", "--config", "-"], "standard input can be read once only"),
    (["explain", "a/b", "--cluster", "x", "--kubeconfig", "y"], "--cluster asks no server"),
    (["explain", "a/b", "--cluster", "x", "--server", "y"], "--cluster asks no server"),
    (["explain", "a/b", "--cluster", "x", "--ca-file", "y"], "--cluster asks no server"),
    (["explain", "a/b", "--cluster", "x", "--token-file", "y"], "--cluster asks no server"),
    (["explain", "a/b", "--token-file", "x", "--kubeconfig", "y"], "--token-file and --kubeconfig do not"),
    (["explain", "a/b", "--token-file", "x"], "--token-file and --ca-file go with --server"),
    (["explain", "a/b", "--ca-file", "x"], "--token-file and --ca-file go with --server"),
    (["explain", "a/b", "--server", "http://x", "--ca-file", "y"], "--ca-file is for https://"),
    (["explain", "a/b", "--server", "x", "--config", "y"], "--config and --node go with --cluster"),
    (["explain", "a/b", "--kubeconfig", "x", "--node", "y"], "--config and --node go with --cluster"),
    (["explain"], "name a pod as NAMESPACE/POD"),
    (["explain", "a/b", "--sites", "x"], "--sites goes with --binding"),
    (["explain", "a/b", "--binding", "c/d"], "leave pod out"),
    (["explain", "--binding", "a/b", "--sites", "x", "--kubeconfig", "y"], "leave --kubeconfig out"),
    (["savings", "--cluster", "-", "--config", "-"], "standard input can be read once only"),
    (["savings", "--cluster", "x", "--live"], "--cluster for a cluster from a file, or --live"),
    (["savings", "--cluster", "x", "--kubeconfig", "y"], "--kubeconfig and --namespace go with --live"),
    (["savings", "--cluster", "x", "--namespace", "y"], "--kubeconfig and --namespace go with --live"),
    (["savings", "--live", "--config", "x"], "--config and --move go with --cluster"),
    (["savings", "--live", "--move", "job"], "--config and --move go with --cluster"),
    (["savings", "--live", "--partial"], "--partial goes with --cluster"),
    (["rebalance", "--cluster", "-", "--config", "-"], "standard input can be read once only"),
    (["page", "--cluster", "x", "--kubeconfig", "y"], "--cluster and --kubeconfig do not go together"),
    (["page", "--cluster", "x"], "--cluster needs --server"),
    (["page", "--server", "x"], "is not an address that starts with http:// or https://"),
    (["what-if", "--cluster", "x", "--kubeconfig", "y"], "--cluster and --kubeconfig do not go together"),
    (["what-if", "--config", "-", "--config-now", "-"], "standard input can be read once only"),
    (["release", "--namespace", "shop"], "--namespace is that of the Lease, for --if-stale"),
    (["prices", "import", "x", "--output", "y", "--configmap", "z"], "--output and --configmap do not go"),
    (["prices", "import", "x", "--namespace", "y"], "--namespace and --kubeconfig go with --configmap"),
    (["prices", "import", "x", "--kubeconfig", "y"], "--namespace and --kubeconfig go with --configmap"),
]
# Flags that go with every other one of their command.
_SOCIABLE = {
    "serve": "--help --host --port --probe-port --explain-port --namespace --max-body-bytes --decisions "
    "--decision-age --shadow --log-format --log-level",
    "explain": "--help --json",
    "plan": "--help -o --seconds",
    "savings": "--help -o --seconds",
    "rebalance": "--help -o --seconds --move --partial",
    "page": "--help --namespace --config --port",
    "what-if": "--help -o --seconds --without --lost-zone --price --rate --scale --partial",
    "planner": "--help --kubeconfig --namespace --probe-host --probe-port --protect-floor --learn "
    "--lease-seconds --evict --hub-kubeconfig --hub-namespace --log-format --log-level",
    "fleet": "--help --config --kubeconfig --namespace --hub-namespace --scheduler-name --lease-seconds "
    "--probe-host --probe-port --log-format --log-level",
    "site": "--help --config --kubeconfig --hub-kubeconfig --hub-namespace --probe-host --probe-port "
    "--log-format --log-level",
    "release": "--help --if-stale --kubeconfig",
    "check-config": "--help",
    "prices import": "--help --on-demand --region --system",
    "schema": "--help",
    "completion": "--help",
}


@pytest.mark.parametrize(("arguments", "said"), _CONFLICTS, ids=lambda part: " ".join(part)[:60])
def test_flags_that_do_not_go_together_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refusal(arguments, capsys)


@pytest.mark.parametrize("command", _SOCIABLE)
def test_every_flag_was_looked_at(command: str) -> None:
    """Whoever adds one says with what it does not go, or that it goes with all."""
    (flags,) = [
        {flag.names[0] if flag.names[0] != "-h" else "--help" for flag in each.flags}
        for each in completion._commands(parser(complete=True))
        if each.words == command
    ]
    rows = [words for words, _ in _CONFLICTS if " ".join(words).startswith(f"{command} ")]
    refused = {word for words in rows for word in words if word.startswith("--")}
    assert flags == refused | set(_SOCIABLE[command].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["planner", "--lease-seconds", "0"],
        ["planner", "--lease-seconds", "nan"],
        ["planner", "--lease-seconds", "inf"],
        ["serve", "--max-body-bytes", "-1"],
        ["serve", "--decisions", "x"],
        ["serve", "--decision-age", "0"],
    ],
    ids=" ".join,
)
def test_amounts_are_above_nothing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert f'"{arguments[-1]}" is not a number above 0' in refusal(arguments, capsys)


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
    assert "usage: kubectl tradewind" in refusal(["explain", "--nothing"], capsys)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("arguments", "before", "who"),
    [
        (["explain", "a/b", "--cluster", "/no/such/file"], "", "tradewind:"),
        (["plan"], "usage: tradewind plan", "tradewind plan: error:"),
    ],
    ids=["what a command says", "what the parser says"],
)
@pytest.mark.parametrize("no_color", ["", "1"])
def test_errors_are_red_on_a_terminal_only(
    arguments: list[str], before: str, who: str, no_color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    for screen, colour in ((Terminal(), not no_color), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", screen)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        said = screen.getvalue()
        assert said.startswith(before)
        assert (f"\x1b[31m{who}\x1b[0m " in said) == colour
        assert (f"{who} " in said) != colour


def test_only_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert terminal_width() is None
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert terminal_width() == 77


def test_a_plan_fits_the_terminal_and_is_whole_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["plan", "--cluster", str(EXAMPLES / "cluster.json")]
    main(command)
    whole = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in whole
    screen = Terminal()
    monkeypatch.setenv("COLUMNS", "18")
    monkeypatch.setattr(sys, "stdout", screen)
    main(command)
    table = screen.getvalue().partition("\n\n")[0].splitlines()
    assert len(table) == len(whole.partition("\n\n")[0].splitlines())
    assert max(map(len, table)) <= 18
