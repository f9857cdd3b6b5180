"""The shadow over restarts and with several replicas, against an API of one ConfigMap."""

import pytest

from tests.builders import node, offer_of, pod
from tests.config_maps import ConfigMaps
from tradewind.cluster.cache import Cache
from tradewind.config import document
from tradewind.shadow.account import ShadowAccount, decode
from tradewind.shadow.cluster import ShadowPolicies
from tradewind.shadow.keeper import ShadowKeeper
from tradewind.shadow.memory import ShadowMemory
from tradewind.shadow.metrics import ShadowMetrics


class Cluster:
    """A dear and a cheap node, and a pod that kube-scheduler put on the dear one."""

    def __init__(self) -> None:
        self.cache = Cache(offer_of)
        self.cache.apply_node(node("dear").cpu(4).memory("8Gi").pods(10).price(1.0).build())
        self.cache.apply_node(node("cheap").cpu(4).memory("8Gi").pods(10).price(0.25).build())
        self.now = 1e9

    def bind(self, name: str = "web") -> None:
        self.cache.apply_pod(pod(name).uid(name).requests(cpu=1).on("dear").build())


class Replica:
    def __init__(self, cluster: Cluster, maps: ConfigMaps | None) -> None:
        self.leading = True
        self.shadowing = True
        self.metrics = ShadowMetrics()
        self._cluster = cluster
        memory = ShadowMemory(maps.client(), "tradewind-system") if maps else None
        self.keeper = ShadowKeeper(
            cluster.cache,
            ShadowPolicies(document.DEFAULT.policies().of, lambda: ("default-scheduler",)),
            memory,
            self.metrics,
            shadowing=lambda: self.shadowing,
            leading=lambda: self.leading,
            coverage=lambda: "2 of 2 nodes have a price.",
            clock=lambda: cluster.now,
        )

    def run(self, seconds: float = 0.0) -> None:
        """Once right away, and then for so long."""
        self.keeper.run()
        for _ in range(int(seconds // 30)):
            self._cluster.now += 30
            self.keeper.run()

    @property
    def account(self) -> ShadowAccount:
        assert self.keeper.account is not None
        return self.keeper.account

    def value(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"tradewind_{name}", labels) or 0.0


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def maps() -> ConfigMaps:
    return ConfigMaps()


def _begun(cluster: Cluster, maps: ConfigMaps | None) -> Replica:
    replica = Replica(cluster, maps)
    replica.run()
    cluster.bind()
    return replica


def test_an_hour_in_the_shadow(cluster: Cluster, maps: ConfigMaps) -> None:
    replica = _begun(cluster, maps)
    replica.run(3600)
    period = replica.account.shadow
    assert period.real.dollars == pytest.approx(1.0)
    assert period.shadow.dollars == pytest.approx(0.25)
    assert (replica.account.same, replica.account.other) == (0, 1)
    assert replica.value("shadow") == 1
    assert replica.value("shadow_cost_dollars", cluster="real") == pytest.approx(1.0)
    assert replica.value("shadow_cost_dollars_per_hour", cluster="shadow") == 0.25
    assert replica.value("shadow_pods", node="other") == 1


def test_a_restart_goes_on_where_it_ended(cluster: Cluster, maps: ConfigMaps) -> None:
    replica = _begun(cluster, maps)
    replica.run(3600)
    replica.keeper.save()
    cluster.now += 40  # that nobody watched
    again = Replica(cluster, maps)
    again.run(3600)
    assert again.account.shadow.hours == pytest.approx(2.0)
    assert again.account.shadow.saved == pytest.approx(1.5), "the pod still stands on the cheap node"
    assert again.account.other == 1


def test_replicas_that_do_not_lead_show_what_the_leader_wrote(cluster: Cluster, maps: ConfigMaps) -> None:
    leader, other = _begun(cluster, maps), Replica(cluster, maps)
    other.leading = False
    leader.run(3600)
    leader.keeper.save()
    other.run()
    assert other.account.shadow.saved == pytest.approx(0.75)
    assert other.value("shadow_leader") == 0
    other.keeper.save()
    assert maps.version == leader.value("shadow_writes_total", result="written"), "only the leader writes"


def test_another_leader_in_between(cluster: Cluster, maps: ConfigMaps) -> None:
    one, two = _begun(cluster, maps), Replica(cluster, maps)
    one.run(600)
    one.keeper.save()
    one.leading = False
    two.run(3600)
    two.keeper.save()
    one.leading = True
    one.run(600)
    assert one.account.shadow.hours == pytest.approx(4800 / 3600, abs=0.02)


def test_a_conflict_makes_it_read_again(cluster: Cluster, maps: ConfigMaps) -> None:
    replica = _begun(cluster, maps)
    replica.run(600)
    maps.version += 1
    replica.keeper.save()
    assert replica.value("shadow_writes_total", result="conflict") == 1
    replica.run(600)
    replica.keeper.save()
    assert decode((maps.data or {})["account.json"]).shadow.hours > 0


def test_without_the_right_to_keep_it_the_account_ends_with_the_process(
    cluster: Cluster, maps: ConfigMaps
) -> None:
    maps.fails = 403
    replica = _begun(cluster, maps)
    replica.run(3600)
    assert replica.account.shadow.saved == pytest.approx(0.75)


def test_while_the_api_fails_nothing_is_overwritten(cluster: Cluster, maps: ConfigMaps) -> None:
    replica = _begun(cluster, maps)
    replica.run(3600)
    replica.keeper.save()
    again = Replica(cluster, maps)
    maps.fails = 500
    again.run(600)
    maps.fails = 0
    again.run(600)
    assert again.account.shadow.hours > 1


def test_rubbish_is_overwritten(cluster: Cluster, maps: ConfigMaps) -> None:
    maps.data = {"account.json": "]"}
    replica = _begun(cluster, maps)
    replica.run(3600)
    assert decode((maps.data or {})["account.json"]).shadow.hours > 0.5


def test_who_never_was_in_the_shadow_keeps_nothing(cluster: Cluster, maps: ConfigMaps) -> None:
    replica = Replica(cluster, maps)
    replica.shadowing = False
    replica.run(3600)
    assert replica.keeper.account is None
    assert maps.data is None


def test_going_live_goes_on_recording_what_there_is(cluster: Cluster, maps: ConfigMaps) -> None:
    replica = _begun(cluster, maps)
    replica.run(1800)
    replica.shadowing = False
    replica.run(1800)
    assert replica.account.shadow.hours == pytest.approx(0.5, abs=0.01)
    assert replica.account.live.hours == pytest.approx(0.5, abs=0.01)
    assert replica.account.live.real.dollars == pytest.approx(0.5, abs=0.01)
    replica.keeper.save()
    again = Replica(cluster, maps)
    again.shadowing = False
    again.run(1800)
    assert again.account.live.hours == pytest.approx(1.0, abs=0.02)


def test_without_an_api_it_is_kept_in_memory(cluster: Cluster) -> None:
    replica = _begun(cluster, None)
    replica.run(3600)
    replica.keeper.save()
    assert replica.account.shadow.saved == pytest.approx(0.75)
