"""What the command understands and says, and what it makes of a broken API server; the rest is in e2e."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration

from tests.kube.api_server import ApiServer, Asked, Reply, serving
from tradewind.cli.main import main, parser
from tradewind.controller.held_pods import UngateReport
from tradewind.controller.ungating import ungate_all
from tradewind.errors import GoneError
from tradewind.kube import writes as api_writes
from tradewind.planner.gate import GATE, OLD_GATE
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("2m", 120), ("1h", 3600), ("1h30m", 5400), ("1m5s", 65)]
)
def test_durations(text: str, seconds: int) -> None:
    assert parser().parse_args(["release", "--if-stale", text]).if_stale == seconds


@pytest.mark.parametrize("text", ["", "2", "m", "0s", "-2m", "2 m", "2d", "5m1h", "1.5h", "9999999h", "two"])
def test_what_is_no_duration_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["release", f"--if-stale={text}"])
    assert ended.value.code == 2
    assert f'argument --if-stale: "{text}" is not a duration like 90s, 2m or 1h' in capsys.readouterr().err


def test_without_a_cluster_it_says_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["release"])
    assert ended.value.code == 2
    assert "--kubeconfig or KUBECONFIG names one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (UngateReport(), "Tradewind holds no pod."),
        (UngateReport(ungated=1), "Ungated 1 pod; Tradewind holds none any more."),
        (UngateReport(ungated=2, held_for=120), "Ungated 2 pods; Tradewind holds none for 120 s or longer."),
        (UngateReport(ungated=300), "Ungated 300 pods; Tradewind holds none any more."),
        (
            UngateReport(ungated=2, taken_back=1),
            "Ungated 2 pods and removed the plans of 1 pod; Tradewind holds none any more.",
        ),
        (
            UngateReport(ungated=2, failed={"shop/web": "403: forbidden", "shop/db": "403: forbidden"}),
            "Ungated 2 pods; 2 pods could not be ungated, the first of them shop/web: 403: forbidden.",
        ),
    ],
)
def test_the_numbers_in_one_sentence(report: UngateReport, sentence: str) -> None:
    assert str(report) == sentence


def item(name: str, *gates: str, created: str = "2026-01-01T12:00:00Z") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"u-{name}", "creationTimestamp": created},
        "spec": {"schedulingGates": [{"name": gate} for gate in gates]},
    }


def page(names: Iterable[str], token: str = "", gate: str = GATE) -> Reply:
    return Reply(body={"metadata": {"continue": token}, "items": [item(name, gate) for name in names]})


def released(server: ApiServer, held_for: float = 0.0) -> UngateReport:
    async def go() -> UngateReport:
        async with serving(server):
            return await ungate_all(ApiClient(Configuration(host=server.url)), held_for)

    return asyncio.run(go())


def playing(lists: Iterable[Reply], patched: Callable[[Asked], Reply] = lambda _: Reply()) -> ApiServer:
    """Lists one after the other, then empty ones."""
    server, left = ApiServer(), list(lists)

    async def answer(asked: Asked) -> Reply:
        if asked.method == "PATCH":
            return patched(asked)
        return left.pop(0) if left else page([])

    server.answer = answer  # type: ignore[method-assign]
    return server


def queries(server: ApiServer, method: str) -> list[Asked]:
    return [asked for asked in server.asked if asked.method == method]


def test_pods_that_came_meanwhile_are_ungated_too() -> None:
    server = playing([page(["a", "b"]), page(["c"])])
    assert released(server) == UngateReport(ungated=3)
    assert len(queries(server, "GET")) == 3


def test_pods_of_the_version_before_are_ungated_too() -> None:
    assert released(playing([page(["a"], gate=OLD_GATE)])) == UngateReport(ungated=1)
    assert released(playing([page(["a"], gate="example.com/quota")])) == UngateReport()


@pytest.mark.parametrize("gates", [[], [{"name": GATE}]])
def test_plans_and_their_nominations_are_taken_back(gates: list[dict[str, str]]) -> None:
    plan = PlanAnnotation("n1", 1_800_000_000.0, nominated=True).text()
    item = {
        "metadata": {"name": "a", "namespace": "shop", "uid": "u-a", "annotations": {ANNOTATION: plan}},
        "spec": {"schedulingGates": gates, "preemptionPolicy": "Never"},
        "status": {
            "nominatedNodeName": "n1",
            "conditions": [{"type": "PodScheduled", "reason": "Unschedulable"}],
        },
    }
    server = playing([Reply(body={"metadata": {}, "items": [item]})])
    assert released(server) == UngateReport(ungated=len(gates), taken_back=1)
    last = queries(server, "PATCH")[-1]
    assert last.path == "/api/v1/namespaces/shop/pods/a/status"
    assert last.body[-2:] == [
        {"op": "remove", "path": "/metadata/annotations/tradewind.dev~1plan"},
        {"op": "remove", "path": "/status/nominatedNodeName"},
    ]


@pytest.mark.parametrize("held_for", [0, 120])
def test_the_age_of_a_hold_is_by_the_clock_of_the_api_server(held_for: int) -> None:
    """It is 12:00:00 there, whatever our own clock says."""
    items = [
        item("old", GATE, created="2026-01-01T11:57:59Z"),
        item("oldest", GATE, OLD_GATE, created="2026-01-01T11:00:00Z"),
        item("new", GATE, created="2026-01-01T11:58:10Z"),
        item("ahead", GATE, created="2026-01-01T12:00:01Z"),
        item("queued", GATE, "example.com/quota", created="2026-01-01T11:00:00Z"),
    ]
    date = {"Date": "Thu, 01 Jan 2026 12:00:00 GMT"}
    server = playing([Reply(body={"metadata": {}, "items": items}, headers=date)])
    report = released(server, held_for)
    ungated = {asked.path.rpartition("/")[2] for asked in queries(server, "PATCH")}
    assert ungated == ({"old", "oldest"} if held_for else {each["metadata"]["name"] for each in items})
    assert report == UngateReport(ungated=len(ungated), held_for=held_for)


def test_a_list_that_ran_out_is_begun_anew() -> None:
    gone = Reply(410, "the continue token has expired")
    server = playing([page(["a"], token="next"), gone, page(["b"])])
    assert released(server) == UngateReport(ungated=2)
    tokens = [asked.query.get("continue") for asked in queries(server, "GET")]
    assert tokens == [None, "next", None, None]


def test_what_cannot_be_listed_is_not_called_released() -> None:
    with pytest.raises(GoneError):
        released(playing([Reply(410, "gone")] * 100))


def test_the_first_write_without_an_answer_speaks_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(seconds: float) -> None:
        del seconds

    monkeypatch.setattr(api_writes, "_wait", at_once)
    names = [f"p{number}" for number in range(400)]
    server = playing([page(names)], lambda _: Reply(0))
    report = released(server)
    assert len(report.failed) == 400
    assert report.failed["shop/p0"].startswith("the connection to the API server failed: ")
    assert len(queries(server, "PATCH")) <= 16 * 6  # those that were under way
