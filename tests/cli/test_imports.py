"""What a command imports: each of these packages costs more than a short command may take in all."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.scripted import ScriptedApi
from tests.manifests.files import pod_spec

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_EVERY_KEY = """
preset: cost
weights: {price: 3}
rules: {durable_floor: {min: 1}}
classes: [{name: nightly, match: {priorityClasses: [batch]}, preset: cost}]
market: {spotPriceRatio: 0.4, discounts: [{selector: team=web, factor: 0.9}]}
planner: {batch: {pods: 40}, moves: {mode: advise}}
fleet: {weights: {price: 2}, classes: {web: {weights: {locality: 5}}}}
"""
_KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: there
clusters: [{{name: there, cluster: {{server: "{server}"}}}}]
contexts: [{{name: there, context: {{cluster: there, user: me}}}}]
users: [{{name: me, user: {{}}}}]
"""
_SOLVERS = {"ortools", "pandas"}
_WEB = {"fastapi", "uvicorn", "starlette", "uvloop"}
_KUBERNETES = {"kubernetes", "aiohttp", "requests"}
_WRITES = {"aiohttp", "asyncio"}
_OTHER_PARTS = {"requests", "requests_oauthlib", "websocket", "kubernetes.watch"}  # of the official client
_SHOW = "names = {*sys.modules}; names |= {name.partition('.')[0] for name in names}; "
_SHOW += "print(*sorted(names), file=sys.stderr)"


def _imported(*arguments: str, kubeconfig: str = "/no/such/kubeconfig") -> set[str]:
    return set(_ended(_SHOW, *arguments, kubeconfig=kubeconfig))


def _ended(show: str, *arguments: str, kubeconfig: str = "/no/such/kubeconfig") -> list[str]:
    """What `show` writes after the command."""
    program = f"import atexit, sys\natexit.register(lambda: exec({show!r}))\n"
    program += f"from tradewind.cli.main import main\nmain({list(arguments)!r})"
    environment = {"KUBECONFIG": kubeconfig, "PYTHONPATH": ":".join(sys.path)}
    ended = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
    )
    return ended.stderr.splitlines()[-1].split()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"]])
def test_no_command_imports_nothing(arguments: list[str]) -> None:
    imported = _imported(*arguments)
    assert "argparse" in imported
    assert not imported & (_SOLVERS | _WEB | _KUBERNETES | {"numpy", "pydantic", "msgspec", "yaml"})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing but the head"),
        pytest.param(_EVERY_KEY, id="every part of a configuration"),
        pytest.param("weights: {luck: 1}", id="one that is refused"),
    ],
)
def test_check_config_needs_neither_a_cluster_nor_a_server_nor_numbers(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(_HEAD + text)
    imported = _imported("check-config", str(file))
    assert {"yaml", "scoring.registry", "tradewind.fleet.settings"} <= imported
    assert not imported & (_SOLVERS | _WEB | _KUBERNETES | {"prometheus_client", "numpy"})
    assert not imported & {"tradewind.fleet.policy", "tradewind.planner.problem", "tradewind.market.table"}


def test_the_collector_looks_at_nothing_that_was_imported(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(_HEAD)
    frozen, followed, enabled = _ended(
        "import gc; print(gc.get_freeze_count(), len(gc.get_objects()), gc.isenabled(), file=sys.stderr)",
        "check-config",
        str(file),
    )
    assert int(frozen) > int(followed)
    assert enabled == "True"


def test_the_watchdog_starts_every_minute_without_what_only_services_need() -> None:
    """Of about 400 names, modules and their packages, most are the Kubernetes client's own."""
    (container,) = pod_spec("tradewind-watchdog")["containers"]
    watchdog = _imported(*container["args"])
    assert not watchdog & (_SOLVERS | _WEB | _WRITES | _OTHER_PARTS | {"numpy", "prometheus_client"})
    assert len(watchdog) < 500


def test_release_needs_neither_a_planner_nor_the_models_of_kubernetes(tmp_path: Path) -> None:
    """Nor what writes, where it finds nothing to write: `pods` is an empty list here."""
    kubeconfig = tmp_path / "kubeconfig"
    with contextlib.closing(ScriptedApi()) as api:
        kubeconfig.write_text(_KUBECONFIG.format(server=api.url))
        imported = _imported("release", kubeconfig=str(kubeconfig))
        assert api.requests("pods")
    assert "kubernetes.client.models.v1_pod" not in imported
    assert "kubernetes" in imported
    assert not imported & (_SOLVERS | _WEB | _WRITES | _OTHER_PARTS | {"numpy", "prometheus_client"})
