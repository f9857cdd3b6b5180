"""`tradewind explain` as a person types it: on a cluster file, and against a running service."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scoring.filters.resources import Resources
from scoring.filters.taints import Taints
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.cli.test_serve import ask, serving
from tradewind.cli.explain import explain_in_file
from tradewind.cli.main import main
from tradewind.explain.explanation import Explanation
from tradewind.runtime.source import EXAMPLES

_EXAMPLE = str(EXAMPLES / "cluster.json")
_WANTED = pod("cart-7").namespace("shop").requests(cpu="2", memory="2Gi")
_CHEAP, _DEAR = node("cheap").price(0.1), node("dear").price(0.4)


@pytest.fixture
def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> "Typed":
    monkeypatch.setenv("COLUMNS", "200")  # the widest text: few sentences are broken
    return Typed(tmp_path / "cluster.json", capsys)


class Typed:
    """The output of `tradewind explain --cluster FILE NAMESPACE/POD ...`."""

    def __init__(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._file = file
        self._capsys = capsys

    def __call__(self, objects: list[NodeBuilder | PodBuilder], *arguments: str) -> str:
        items = [each.document for each in objects]
        self._file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        main(["explain", "--cluster", str(self._file), *arguments])
        return " ".join(self._capsys.readouterr().out.split())


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["explain", *arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_waiting_pod_is_told_where_it_would_go(explained: Typed) -> None:
    told = explained([_CHEAP, _DEAR, _WANTED], "shop/cart-7")
    assert told.startswith(
        "shop/cart-7 is not placed yet. Placed now, it would go to cheap ($0.0500/h) because it offers "
        "a lower price ($0.0500/h instead of $0.200/h)."
    )
    assert "Considered 2 of 2 nodes: 2 passed, 0 were rejected." in told


def test_a_placed_pod_does_not_stand_in_its_own_way(explained: Typed) -> None:
    # It takes 3 of the 4 cores: twice it would not fit on either node, were it still counted.
    big = _WANTED.requests(cpu="3")
    told = explained([_CHEAP, _DEAR, big.on("cheap")], "shop/cart-7")
    assert told.startswith("shop/cart-7 is placed on cheap ($0.0750/h), still the best node for it because")


def test_a_pod_that_would_go_elsewhere_now_is_compared_with_where_it_is(explained: Typed) -> None:
    told = explained([_CHEAP, _DEAR, node("mean").price(0.2), _WANTED.on("dear")], "shop/cart-7")
    assert told.startswith("shop/cart-7 is placed on dear ($0.200/h). Placed now, it would go to cheap")
    assert "Compared with dear, cheap offers a lower price ($0.0500/h instead of $0.200/h)." in told


def test_a_pod_on_a_node_that_would_not_take_it_now(explained: Typed) -> None:
    tainted = _DEAR.taint("team", value="other")
    told = explained([_CHEAP, tainted, node("mean").price(0.2), _WANTED.on("dear")], "shop/cart-7")
    assert f"dear itself would not take it now: {Taints.reason}." in told


def test_the_rules_of_kube_scheduler_are_applied_too(explained: Typed) -> None:
    nodes = [
        _CHEAP.taint("team", value="other"),
        _DEAR.unschedulable(),
        node("c").label("pool", "x"),
        node("d").cpu("1").label("pool", "y"),
    ]
    told = explained([*nodes, _WANTED.field("spec", "nodeSelector", value={"pool": "y"})], "shop/cart-7")
    assert "shop/cart-7 is not placed yet. No candidate can take it" in told
    for rule in ("taints", "unschedulable", "node_affinity", "resources: cpu on 1"):
        assert f"({rule})" in told
    assert f"{Resources.reason} (resources: cpu on 1) d" in told


def test_a_node_is_rejected_once_by_a_rule_of_both_sets(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    items = [each.document for each in (node("small").cpu("1"), _WANTED)]
    file.write_text(json.dumps({"kind": "List", "items": items}))
    candidates = explain_in_file(file, None, "shop/cart-7").candidates
    assert candidates is not None
    assert [(each.rule, each.count) for each in candidates.rejected] == [("resources", 1)]


def test_only_these_nodes_are_looked_at(explained: Typed) -> None:
    told = explained(
        [_CHEAP, _DEAR, node("mean").price(0.2), _WANTED], "shop/cart-7", "--node", "mean", "--node", "dear"
    )
    assert "it would go to mean ($0.100/h)" in told
    assert "Considered 2 of 3 nodes" in told


def test_the_weights_and_classes_of_a_configuration_count(explained: Typed, tmp_path: Path) -> None:
    configuration = tmp_path / "config.yaml"
    configuration.write_text(
        "apiVersion: tradewind.dev/v1alpha1\n"
        "kind: TradewindConfiguration\n"
        "classes: [{name: shops, match: {namespaces: [shop]}, weights: {price: 0}}]\n"
    )
    stable = _DEAR.annotation("tradewind.dev/interruption-rate", "0")
    risky = _CHEAP.annotation("tradewind.dev/interruption-rate", "0.1")
    told = explained([stable, risky, _WANTED], "shop/cart-7", "--config", str(configuration))
    assert "it would go to dear" in told
    assert told.endswith("Workload class: shops.")


def test_json_is_what_the_service_answers(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "--cluster", _EXAMPLE, "--json", "shop/db-0"])
    told = Explanation.model_validate_json(capsys.readouterr().out)
    assert (told.origin, told.placed_on, told.best) == ("evaluation", "durable-big", "durable-big")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--cluster", _EXAMPLE, "shop/db-7"],
            "has no pod shop/db-7; did you mean shop/db-0",
            id="a near miss",
        ),
        pytest.param(
            ["--cluster", _EXAMPLE, "db-0"], '"db-0" lacks its namespace: shop/db-0', id="a name alone"
        ),
        pytest.param(["--cluster", _EXAMPLE, "x/qqqqqqqq"], "has no pod x/qqqqqqqq\n", id="nothing like it"),
        pytest.param(
            ["--cluster", _EXAMPLE, "--node", "ghost", "shop/db-0"], "has no node ghost", id="unknown node"
        ),
        pytest.param(["--cluster", "/no/such/file", "a/b"], "/no/such/file", id="no such file"),
        pytest.param(
            ["--cluster", _EXAMPLE, "--config", "/no/such/file", "shop/db-0"],
            "/no/such/file",
            id="no such config",
        ),
        pytest.param(
            ["--cluster", _EXAMPLE, "--server", "http://x", "a/b"], "leave --server", id="file and server"
        ),
        pytest.param(["--config", "x", "a/b"], "go with --cluster", id="a configuration for a server"),
        pytest.param(["cart"], '"cart" is not NAMESPACE/POD', id="no namespace"),
        pytest.param(["a/b/c"], '"a/b/c" is not NAMESPACE/POD', id="too many parts"),
        pytest.param(["--server", "ftp://x", "a/b"], "is not an address that starts", id="no such protocol"),
        pytest.param(["--server", "http://[", "a/b"], "no answer from http://[", id="no such address"),
    ],
)
def test_errors_are_sentences(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = error_of(capsys, *arguments)
    assert error.startswith("tradewind: ")
    assert message in error


def test_a_server_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, not listening: nobody else gets the port meanwhile
        server = f"http://127.0.0.1:{closed.getsockname()[1]}"
        error = error_of(capsys, "--server", server, "shop/cart-7")
    assert error == f"tradewind: no answer from {server}: Connection refused; --server names another\n"


def test_against_a_running_service(capsys: pytest.CaptureFixture[str]) -> None:
    request = (EXAMPLES / "request.json").read_bytes()
    with serving("--cluster", _EXAMPLE) as process:
        server = f"http://127.0.0.1:{process.explain_port}"
        ask(process.port, "POST", "/filter", request)
        ask(process.port, "POST", "/prioritize", request)
        ask(process.port, "GET", "/healthz")  # by then, what was decided is written down
        main(["explain", "--server", f"{server}/", "shop/checkout-0"])
        told = capsys.readouterr().out
        unseen = error_of(capsys, "--server", server, "shop/nobody")
        elsewhere = error_of(
            capsys, "--server", f"http://127.0.0.1:{process.port}/healthz?", "shop/checkout-0"
        )
    assert told.startswith("shop/checkout-0 is not placed yet. Tradewind prefers spot-a1 ($0.0181/h)")
    assert "did not ask this Tradewind about pod shop/nobody" in unseen
    assert "answers 200, but not as this Tradewind does" in elsewhere


def test_a_reader_that_has_seen_enough_gets_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-m", "tradewind", "explain", "--cluster", _EXAMPLE, "shop/db-0"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (1, b"")
