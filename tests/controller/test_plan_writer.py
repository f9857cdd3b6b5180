"""Which writes a plan costs, in which order, and what comes of refusals."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import pytest
from kubernetes.client import ApiClient, Configuration
from prometheus_client import generate_latest

from tests.builders import pod
from tests.kube.api_server import ApiServer, Asked, Reply, serving
from tradewind.cluster.objects import Pod
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.orders import Order
from tradewind.controller.plan_writer import PlanWriter, WriteOutcome, outcome_of
from tradewind.kube import writes as api_writes
from tradewind.kube.failures import Status
from tradewind.kube.writes import ApiWrites
from tradewind.planner.gate import GATE, OLD_GATE
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation

_ANNOTATION = PlanAnnotation("n1", 1_800_000_000.0)
_NOMINATING = _ANNOTATION._replace(nominated=True)
_PLAN = {"annotations": {ANNOTATION: _ANNOTATION.text()}, "uid": "u-web"}
_NOMINATING_PLAN = {"annotations": {ANNOTATION: _NOMINATING.text()}, "uid": "u-web"}
_NOMINATION = {"nominatedNodeName": "n1"}
_OTHER_UID = Reply(422, 'Pod "web" is invalid: metadata.uid: Invalid value: "u-web": field is immutable')

Result = TypeVar("Result")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(seconds: float) -> None:
        del seconds

    monkeypatch.setattr(api_writes, "_wait", at_once)


def waiting(name: str, *gates: str, nominated: str = "") -> Pod:
    built = pod(name).namespace("shop").uid(f"u-{name}").field("status", "nominatedNodeName", value=nominated)
    return built.field("spec", "schedulingGates", value=[{"name": gate} for gate in gates]).build()


def planned(*, nominated: bool = True, preempts: bool = False, unschedulable: bool = False) -> Pod:
    old = PlanAnnotation("n0", 1_800_000_000.0, nominated=nominated).text()
    built = pod("web").namespace("shop").uid("u-web").annotation(ANNOTATION, old)
    if nominated:
        built = built.field("status", "nominatedNodeName", value="n0")
    if unschedulable:
        refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        built = built.field("status", "conditions", value=[refused])
    policy = "PreemptLowerPriority" if preempts else "Never"
    return built.field("spec", "preemptionPolicy", value=policy).build()


def run(
    server: ApiServer,
    work: Callable[[PlanWriter], Awaitable[Result]],
    metrics: PlanMetrics | None = None,
    concurrency: int = 16,
) -> Result:
    async def go() -> Result:
        async with (
            serving(server),
            ApiWrites(ApiClient(Configuration(host=server.url)), concurrency) as writes,
        ):
            return await work(PlanWriter(writes, metrics or PlanMetrics()))

    return asyncio.run(go())


def sent(asked: Iterable[Asked]) -> list[tuple[str, object]]:
    return [(each.path.removeprefix("/api/v1/namespaces/shop/pods/"), each.body) for each in asked]


_NOMINATED = ("web/status", {"metadata": _NOMINATING_PLAN, "status": _NOMINATION})
_UNGATED = ("web", {"metadata": _PLAN, "spec": {"schedulingGates": None}})
_UNGATED_AFTER = ("web", {"metadata": _NOMINATING_PLAN, "spec": {"schedulingGates": None}})


@pytest.mark.parametrize(
    ("held", "nominate", "writes"),
    [
        pytest.param(waiting("web", GATE), True, [_NOMINATED, _UNGATED_AFTER], id="nominated, then ungated"),
        pytest.param(waiting("web", GATE), False, [_UNGATED], id="one write without a nomination"),
        pytest.param(waiting("web", OLD_GATE), False, [_UNGATED], id="behind the gate of the version before"),
        pytest.param(
            waiting("web", GATE, nominated="n2"), True, [_NOMINATED, _UNGATED_AFTER], id="an old nomination"
        ),
        pytest.param(waiting("web"), True, [_NOMINATED], id="one write for a pod that nobody holds"),
        pytest.param(waiting("web"), False, [("web", {"metadata": _PLAN})], id="the annotation alone"),
        pytest.param(
            waiting("web", nominated="n2"),
            False,
            [("web", {"metadata": _PLAN})],
            id="kube-scheduler's own nomination stays",
        ),
        pytest.param(
            planned(),
            False,
            [("web/status", {"metadata": _PLAN, "status": {"nominatedNodeName": None}})],
            id="a nomination of ours goes with its plan",
        ),
    ],
)
def test_what_a_plan_costs(held: Pod, nominate: bool, writes: list[tuple[str, object]]) -> None:
    server = ApiServer()
    plan = _NOMINATING if nominate else _ANNOTATION
    assert run(server, lambda writer: writer.write_plan(held, plan)) is WriteOutcome.WRITTEN
    assert sent(server.asked) == writes


@pytest.mark.parametrize(
    "gates", [("other/gate",), (GATE, "other/gate"), ("other/gate", GATE), (OLD_GATE, "other/gate")]
)
def test_a_pod_behind_another_gate_is_left_alone(gates: tuple[str, ...]) -> None:
    server = ApiServer()
    assert (
        run(server, lambda writer: writer.write_plan(waiting("web", *gates), _ANNOTATION))
        is WriteOutcome.LEFT
    )
    assert server.asked == []


@pytest.mark.parametrize(
    ("gates", "second"),
    [pytest.param((GATE,), _UNGATED, id="held"), pytest.param((), ("web", {"metadata": _PLAN}), id="free")],
)
def test_a_failed_nomination_does_not_keep_a_pod_gated(
    gates: tuple[str, ...], second: tuple[str, object]
) -> None:
    server = ApiServer(Reply(403, "pods/status is forbidden"))
    released = run(server, lambda writer: writer.write_plan(waiting("web", *gates), _NOMINATING))
    assert released is WriteOutcome.WRITTEN
    assert sent(server.asked)[1] == second


@pytest.mark.parametrize("reply", [Reply(404, "not found"), _OTHER_UID])
def test_a_pod_that_is_gone_costs_no_second_write(reply: Reply) -> None:
    server = ApiServer(reply)
    held = waiting("web", GATE)
    assert run(server, lambda writer: writer.write_plan(held, _NOMINATING)) is WriteOutcome.GONE
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (Status(404, 'pods "web" not found'), WriteOutcome.GONE),
        (Status(422, _OTHER_UID.message), WriteOutcome.GONE),
        (Status(422, "spec.schedulingGates: Forbidden"), WriteOutcome.FAILED),
        (
            Status(422, "the server rejected our request due to an error in our request"),
            WriteOutcome.OUTDATED,
        ),
        (
            Status(409, "Precondition failed: UID in precondition: a, UID in object meta: b"),
            WriteOutcome.GONE,
        ),
        (Status(409, 'pods "fluid": the object has been modified'), WriteOutcome.FAILED),
        (Status(403, "forbidden"), WriteOutcome.FAILED),
        (Status(0, "no connection"), WriteOutcome.FAILED),
    ],
)
def test_what_a_refusal_means(status: Status, outcome: WriteOutcome) -> None:
    assert outcome_of(status.error()) is outcome


def plans(*names: str, plan: PlanAnnotation = _ANNOTATION) -> list[Order]:
    return [Order(waiting(name, GATE), plan) for name in names]


class Bound:
    """Notes who is waited for, and what was written by then."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self.waits: list[tuple[set[str], set[str]]] = []

    async def wait(self, uids: frozenset[str], seconds: float) -> frozenset[str]:
        assert seconds == 5
        self.waits.append((set(uids), {path for path, _ in sent(self._server.asked)}))
        return frozenset()


def test_a_wave_is_bound_before_the_next_is_written() -> None:
    server = ApiServer()
    bound = Bound(server)
    waves = [plans("a", "b"), plans("c"), plans("d")]
    outcomes = run(server, lambda writer: writer.write(waves, wait_bound=bound.wait))
    assert outcomes == dict.fromkeys(["u-a", "u-b", "u-c", "u-d"], WriteOutcome.WRITTEN)
    assert bound.waits == [({"u-a", "u-b"}, {"a", "b"}), ({"u-c"}, {"a", "b", "c"})]


def test_a_large_wave_has_more_time() -> None:
    given: list[float] = []

    async def noted(_: frozenset[str], seconds: float) -> None:
        given.append(seconds)

    waves = [plans("a"), plans(*(f"b-{number}" for number in range(200))), plans("c")]
    run(ApiServer(), lambda writer: writer.write(waves, wait_bound=noted))
    assert given == [pytest.approx(5.0), pytest.approx(10.0)]


def test_a_wave_that_is_never_bound_holds_up_nobody() -> None:
    async def never(uids: frozenset[str], seconds: float) -> None:
        del uids, seconds
        await asyncio.Event().wait()

    server = ApiServer()
    waves = [plans("a"), plans("b")]
    outcomes = run(
        server,
        lambda writer: writer.write(waves, wait_bound=never, wave_seconds=0.01),
    )
    assert set(outcomes.values()) == {WriteOutcome.WRITTEN}


def test_who_could_not_be_written_is_not_waited_for() -> None:
    server = ApiServer(Reply(404), Reply(200))
    bound = Bound(server)
    outcomes = run(
        server,
        lambda writer: writer.write([plans("a", "b"), plans("c")], wait_bound=bound.wait),
        concurrency=1,
    )
    assert outcomes == {"u-a": WriteOutcome.GONE, "u-b": WriteOutcome.WRITTEN, "u-c": WriteOutcome.WRITTEN}
    assert [uids for uids, _ in bound.waits] == [{"u-b"}]


def test_when_nothing_can_be_written_the_rest_is_not_tried() -> None:
    server = ApiServer(*[Reply(403, "no")] * 10)
    bound = Bound(server)
    outcomes = run(
        server,
        lambda writer: writer.write([plans("a", "b"), plans("c")], wait_bound=bound.wait),
    )
    assert outcomes == dict.fromkeys(["u-a", "u-b", "u-c"], WriteOutcome.FAILED)
    assert len(server.asked) == 2
    assert bound.waits == []


def test_a_pod_is_ungated_right_after_its_nomination() -> None:
    server = ApiServer()
    names = [f"p{number}" for number in range(6)]
    run(
        server,
        lambda writer: writer.write([plans(*names, plan=_NOMINATING)], wait_bound=Bound(server).wait),
        concurrency=2,
    )
    order = [path for path, _ in sent(server.asked)]
    for name in names:
        assert 0 < order.index(name) - order.index(f"{name}/status") <= 2


def test_our_gate_is_removed_whatever_else_holds_the_pod() -> None:
    server = ApiServer(Reply(200), Reply(404), Reply(403))
    held = [waiting("a", GATE), waiting("b", "other/gate", GATE), waiting("c", GATE)]
    outcomes = run(server, lambda writer: writer.ungate(held), concurrency=1)
    assert outcomes == {"u-a": WriteOutcome.WRITTEN, "u-b": WriteOutcome.GONE, "u-c": WriteOutcome.FAILED}
    assert server.asked[0].headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert server.asked[0].body == {
        "metadata": {"uid": "u-a"},
        "spec": {"schedulingGates": [{"$patch": "delete", "name": name} for name in (OLD_GATE, GATE)]},
    }


def test_writes_are_counted() -> None:
    metrics = PlanMetrics()
    server = ApiServer(Reply(403), Reply(200), Reply(404))

    async def work(writer: PlanWriter) -> None:
        await writer.write_plan(waiting("web", GATE), _NOMINATING)
        await writer.ungate([waiting("web", GATE)])

    run(server, work, metrics)
    shown = generate_latest(metrics.registry).decode()
    for kind, outcome in [("nominate", "failed"), ("ungate", "written"), ("ungate_without_plan", "gone")]:
        assert f'tradewind_plan_writes_total{{kind="{kind}",outcome="{outcome}"}} 1.0' in shown


def test_it_is_busy_while_more_than_twice_as_many_as_have_a_place_are_unwritten() -> None:
    """Pods of a later wave wait for bindings and not for the API server: they do not count."""
    server = ApiServer()
    seen: list[tuple[int, bool]] = []

    async def work(writer: PlanWriter) -> None:
        async def answer(asked: Asked) -> Reply:
            del asked
            seen.append((len(server.asked), writer.busy))
            return Reply(404 if len(server.asked) == 2 else 200)

        async def later(uids: frozenset[str], seconds: float) -> None:
            del uids, seconds
            seen.append((0, writer.busy))

        server.answer = answer  # type: ignore[method-assign]
        assert not writer.busy
        waves = [plans("a", "b", "c", "d"), plans("e", "f", "g")]
        await writer.write(waves, wait_bound=later)
        assert not writer.busy

    run(server, work, concurrency=1)
    first = [(1, True), (2, True), (3, False), (4, False), (0, False)]
    assert seen == [*first, (5, True), (6, False), (7, False)]


@pytest.mark.parametrize("nominate", [True, False])
def test_a_pod_in_flight_is_diverted_only_as_it_is_known(nominate: bool) -> None:
    server = ApiServer()
    flying, plan = planned(nominated=nominate), _ANNOTATION._replace(nominated=nominate)
    outcomes = run(server, lambda writer: writer.divert([Order(flying, plan)]))
    assert outcomes == {"u-web": WriteOutcome.WRITTEN}
    key, node = "/metadata/annotations/tradewind.dev~1plan", "/status/nominatedNodeName"
    nomination = (
        [{"op": "test", "path": node, "value": "n0"}],
        [{"op": "add", "path": node, "value": "n1"}],
    )
    tests, swaps = nomination if nominate else ([], [])
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": "u-web"},
        {"op": "test", "path": "/spec/nodeName", "value": None},
        {"op": "test", "path": key, "value": flying.annotations[ANNOTATION]},
        *tests,
        {"op": "add", "path": key, "value": plan.text()},
        *swaps,
    ]
    assert sent(server.asked) == [("web/status" if nominate else "web", patch)]


def test_an_order_that_no_longer_counts_is_not_written() -> None:
    server = ApiServer()

    async def only_b(order: Order) -> bool:
        return order.pod.name == "b"

    outcomes = run(
        server,
        lambda writer: writer.write([plans("a", "b")], wait_bound=Bound(server).wait, claim=only_b),
    )
    assert outcomes == {"u-a": WriteOutcome.OUTDATED, "u-b": WriteOutcome.WRITTEN}
    assert [path for path, _ in sent(server.asked)] == ["b"]


@pytest.mark.parametrize(
    ("ended", "nomination"),
    [
        pytest.param(planned(), True, id="ours"),
        pytest.param(
            planned(unschedulable=True), True, id="kube-scheduler clears none of one that never preempts"
        ),
        pytest.param(planned(unschedulable=True, preempts=True), False, id="kube-scheduler's own by now"),
        pytest.param(planned(nominated=False), False, id="none"),
    ],
)
def test_a_plan_is_taken_back_with_its_nomination(ended: Pod, nomination: bool) -> None:
    server = ApiServer()
    run(server, lambda writer: writer.take_back([ended]))
    key, node = "/metadata/annotations/tradewind.dev~1plan", "/status/nominatedNodeName"
    assert sent(server.asked) == [
        (
            "web/status" if nomination else "web",
            [
                {"op": "test", "path": "/metadata/uid", "value": "u-web"},
                {"op": "test", "path": "/spec/nodeName", "value": None},
                {"op": "test", "path": key, "value": ended.annotations[ANNOTATION]},
                *([{"op": "test", "path": node, "value": "n0"}] if nomination else []),
                {"op": "remove", "path": key},
                *([{"op": "remove", "path": node}] if nomination else []),
            ],
        )
    ]
