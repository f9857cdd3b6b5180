"""When the whole cluster is solved anew, and what becomes of the guide."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.builders import node, offer_of, pod
from tests.config_maps import ConfigMaps
from tradewind.cluster.cache import Cache
from tradewind.cluster.guide import KEY, Role, decode
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.controller import standing as controller_standing
from tradewind.controller.guide_publisher import GuidePublisher
from tradewind.controller.metrics import StandingMetrics
from tradewind.controller.standing import Standing
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.solver_process import SolverLostError
from tradewind.planner.standing.programme import Programme
from tradewind.planner.standing.standing import Solved, StandingPlan
from tradewind.planner.standing.worker import StandingWorker

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


class _Here(StandingWorker):
    """Solves in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.solves = 0
        self.closed = 0
        self.fails = ""
        self.needed: list[frozenset[str]] = []
        self.templates: Sequence[PoolTemplate] = ()

    def solve(
        self,
        *arguments: Any,
        templates: Sequence[PoolTemplate] = (),
        wanted: Mapping[str, int] | None = None,
    ) -> Solved | None:
        snapshot, pods, policy_of, seconds, needed = arguments
        self.templates = templates
        self.solves += 1
        self.needed.append(frozenset(needed))
        if self.fails:
            raise SolverLostError(self.fails)
        plan = StandingPlan(seconds, Programme().solve, needed)
        return plan.run(snapshot, pods, policy_of, self.now, wanted=wanted or {})

    now = 0.0

    def close(self) -> None:
        self.closed += 1


class _Leader:
    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, settings: str = "") -> None:
        self.file = directory / "tradewind.yaml"
        self.file.write_text(_HEAD + settings)
        self.now = 1000.0
        monkeypatch.setattr(controller_standing, "time", self)
        self.cache = Cache(offer_of)
        self.maps = ConfigMaps()
        self.registry = CollectorRegistry()
        metrics = StandingMetrics(self.registry)
        self.settings = Settings(self.file, ConfigMetrics(self.registry))
        self.worker = _Here()
        publisher = GuidePublisher(self.maps.client(), "here", metrics, lambda: True)
        self.pools: Sequence[PoolTemplate] = ()
        self.wanted: Mapping[str, int] = {}
        self.standing = Standing(
            self.cache,
            self.settings,
            self.worker,
            publisher,
            metrics,
            pools=lambda: self.pools,
            wanted=lambda _: self.wanted,
        )

    def monotonic(self) -> float:
        return self.now

    def expected(self) -> dict[str, float | None]:
        value = self.registry.get_sample_value
        return {why: value("tradewind_standing_expected_pods", {"why": why}) for why in ("owed", "lately")}

    def solves_after(self, seconds: float) -> int:
        """How many more."""
        before = self.worker.solves
        self.now += seconds
        self.worker.now = self.now
        self.standing.run()
        return self.worker.solves - before

    def fill(self, nodes: Sequence[str], pods: int) -> None:
        for name in nodes:
            self.cache.apply_node(node(name).cpu("8").price(1.0).build())
        for number in range(pods):
            self.cache.apply_pod(pod(f"p{number}").requests(cpu="1").on(nodes[0]).build())


@pytest.fixture
def leader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Leader:
    return _Leader(tmp_path, monkeypatch)


def test_the_cluster_is_solved_at_once_and_then_each_fifteen_seconds(leader: _Leader) -> None:
    leader.fill("ab", 4)
    assert [leader.solves_after(seconds) for seconds in (0, 5, 9, 1, 14, 1)] == [1, 0, 0, 1, 0, 1]


def test_nodes_that_could_be_added_are_told_of(leader: _Leader) -> None:
    leader.fill("ab", 4)
    leader.solves_after(0)
    leader.pools = [PoolTemplate(name="x", resources={"cpu": 4}, price=0.5)]
    leader.solves_after(15)
    assert leader.worker.templates == leader.pools


def test_pods_to_come_are_counted_by_why(leader: _Leader) -> None:
    """Of 968 millicores, the middle of a step: one pod counts as one."""
    leader.cache.apply_node(node("a").cpu("8").price(1.0).build())
    for number in range(3):
        leader.cache.apply_pod(
            pod(f"p{number}").requests(cpu="968m").on("a").owner("ReplicaSet", "web", "uid-web").build()
        )
    leader.wanted = {"default/uid-web": 5}
    leader.solves_after(0)
    assert leader.expected() == {"owed": pytest.approx(2, rel=0.01), "lately": 0}


def test_what_is_solved_is_published_and_counted(leader: _Leader) -> None:
    leader.fill("ab", 4)
    leader.solves_after(0)
    assert leader.maps.data is not None
    guide = decode(leader.maps.data[KEY])
    assert guide.kinds[0].roles == {Role.FILL: ["a"], Role.KEEP: [], Role.DRAIN: ["b"]}
    assert guide.until - guide.solved_at == 45
    for role, count in (("fill", 1), ("keep", 0), ("drain", 1)):
        assert leader.registry.get_sample_value("tradewind_standing_nodes", {"role": role}) == count


@pytest.mark.parametrize("changed", ["node", "price", "weights", "a tenth of the pods"])
def test_a_change_is_followed_soon(leader: _Leader, changed: str) -> None:
    leader.fill("ab", 20)
    leader.solves_after(0)
    assert leader.solves_after(4) == 0
    if changed == "node":
        leader.cache.apply_node(node("c").build())
    elif changed == "price":
        leader.cache.apply_node(node("a").cpu("8").price(1.5).build())
    elif changed == "weights":
        leader.file.write_text(_HEAD + "weights: {price: 7}")
        leader.settings.refresh(lambda _: None)
    else:
        leader.cache.remove_pod("default/p0")
        assert leader.solves_after(0) == 0  # one of twenty is not enough
        leader.cache.remove_pod("default/p1")
    assert leader.solves_after(0) == 1
    assert leader.solves_after(1) == 0


def test_changes_without_end_are_not_followed_without_pause(leader: _Leader) -> None:
    leader.fill("ab", 4)
    solves = 0
    for number in range(60):
        leader.cache.apply_node(node("a").price(1 + number).build())
        solves += leader.solves_after(0.5)
    assert solves == 10  # in 30 s, a fifth of 15 s apart


def test_a_slow_solve_leaves_time_between(leader: _Leader, monkeypatch: pytest.MonkeyPatch) -> None:
    leader.fill("ab", 4)
    solve = leader.worker.solve

    def slow(*arguments: Any, **more: Any) -> Solved | None:
        leader.now += 3.0
        return solve(*arguments, **more)

    monkeypatch.setattr(leader.worker, "solve", slow)
    leader.solves_after(0)
    leader.cache.apply_node(node("c").build())
    assert leader.solves_after(8) == 0  # 11 s after it began; four times as long as it took are 12
    assert leader.solves_after(1) == 1


@pytest.mark.parametrize("settings", ["planner: {standing: {enabled: false}}", "planner: {enabled: false}"])
def test_it_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    leader = _Leader(tmp_path, monkeypatch, settings)
    leader.fill("ab", 4)
    assert leader.solves_after(0) == 0
    assert leader.worker.closed


def test_a_solver_that_is_lost_costs_one_guide(leader: _Leader, caplog: pytest.LogCaptureFixture) -> None:
    leader.fill("ab", 4)
    leader.worker.fails = "the solver ended with exit code -9"
    for seconds in (0, 15, 15):
        leader.solves_after(seconds)
    assert leader.maps.data is None
    assert leader.registry.get_sample_value("tradewind_standing_failures_total") == 3
    assert len([each for each in caplog.messages if "exit code -9" in each]) == 1
    leader.worker.fails = ""
    leader.solves_after(15)
    assert leader.maps.data is not None


def test_a_cluster_without_nodes_has_no_guide_and_no_trouble(leader: _Leader) -> None:
    assert leader.solves_after(0) == 1
    assert leader.maps.data is None
    assert leader.registry.get_sample_value("tradewind_standing_failures_total") == 0


def test_a_node_that_comes_during_a_solve_without_any_is_no_trouble(
    leader: _Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = leader.worker.solve

    def slow(*arguments: Any, **more: Any) -> Solved | None:
        leader.fill("a", 1)
        return solve(*arguments, **more)

    monkeypatch.setattr(leader.worker, "solve", slow)
    assert leader.solves_after(0) == 1
    assert leader.maps.data is None
    assert leader.registry.get_sample_value("tradewind_standing_failures_total") == 0


def test_the_next_leader_keeps_the_roles(
    leader: _Leader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time  # noqa: PLC0415  of guides that are read here

    leader.now = time.time()
    leader.fill("ab", 4)
    leader.solves_after(0)
    follower = _Leader(tmp_path, monkeypatch)
    follower.maps.data = leader.maps.data
    follower.now = time.time()
    follower.fill("ab", 4)
    follower.solves_after(0)
    assert follower.worker.needed == [{"a"}]
    follower.standing.rest()
    follower.solves_after(0.5)
    assert follower.worker.solves == 2


def _arrive(leader: _Leader, first: int, count: int, *, on: str = "") -> None:
    for number in range(first, first + count):
        wanted = pod(f"burst-{number}").requests(cpu="10m")
        leader.cache.apply_pod((wanted.on(on) if on else wanted).build())


def test_the_end_of_a_burst_is_waited_for(leader: _Leader) -> None:
    """A tenth of the pods in a second is a burst; roles that are made in its midst would scatter the rest."""
    leader.fill("ab", 20)
    assert [leader.solves_after(seconds) for seconds in (0, 10)] == [1, 0]
    for first in range(0, 60, 20):
        _arrive(leader, first, 20)
        assert leader.solves_after(0.5) == 0
    assert leader.solves_after(0.5) == 1


def test_a_burst_is_not_over_while_its_pods_are_being_placed(leader: _Leader) -> None:
    leader.fill("ab", 20)
    assert [leader.solves_after(seconds) for seconds in (0, 10)] == [1, 0]
    _arrive(leader, 0, 40)
    assert leader.solves_after(0.5) == 0
    for first in (0, 20):
        _arrive(leader, first, 20, on="a")
        assert leader.solves_after(0.5) == 0
    assert leader.solves_after(0.5) == 1


@pytest.mark.parametrize(
    ("waiting", "solves"),
    [
        pytest.param(59, 0, id="an eighth of the pods, by four a second placed within 15 s"),
        pytest.param(61, 1, id="not within 15 s"),
        pytest.param(40, 1, id="less than a tenth"),
    ],
)
def test_pods_that_wait_to_be_placed_soon_are_a_burst(leader: _Leader, waiting: int, solves: int) -> None:
    leader.fill("ab", 400)
    _arrive(leader, 0, waiting + 4)
    leader.solves_after(0)
    leader.solves_after(14)
    _arrive(leader, 0, 4, on="a")
    assert leader.solves_after(1) == solves


def test_the_rest_of_a_burst_is_waited_for_until_a_hundredth_of_the_pods_is_left(leader: _Leader) -> None:
    leader.fill("ab", 400)
    _arrive(leader, 0, 64)
    leader.solves_after(0)
    leader.solves_after(12)
    solves = []
    for first in range(0, 64, 10):
        _arrive(leader, first, min(10, 64 - first), on="a")
        solves.append((leader.cache.waiting_count(), leader.solves_after(1)))
    assert solves == [(54, 0), (44, 0), (34, 0), (24, 0), (14, 0), (4, 1), (0, 0)]


def test_a_trickle_behind_a_burst_is_not_the_rest_of_it(leader: _Leader) -> None:
    leader.fill("ab", 400)
    leader.solves_after(0)
    leader.solves_after(13)
    _arrive(leader, 0, 60)
    _arrive(leader, 0, 60, on="a")
    assert leader.solves_after(1) == 0  # many at once, and all are placed
    _arrive(leader, 60, 21)
    _arrive(leader, 60, 12, on="a")
    assert leader.solves_after(1) == 1


def test_pods_that_stay_without_a_node_are_no_burst(leader: _Leader) -> None:
    leader.fill("ab", 20)
    leader.solves_after(0)
    _arrive(leader, 0, 40)
    assert [leader.solves_after(seconds) for seconds in (0.5, 3, 14, 1)] == [0, 1, 0, 1]


def test_a_burst_without_end_is_waited_for_twice_as_long_as_usual(leader: _Leader) -> None:
    leader.fill("ab", 20)
    leader.solves_after(0)
    solves, count = [], 20
    for _ in range(31):
        _arrive(leader, count, count // 5)
        count += count // 5
        solves.append(leader.solves_after(1))
    assert [second for second, solved in enumerate(solves, 1) if solved] == [30]
