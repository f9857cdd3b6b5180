"""Replicas leave a site that is gone, or has no node for them; not one that is silent."""

from tests.builders import node
from tests.fleet.cases import nodes, summary_of
from tests.hub.test_records import binding
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Site, Sites
from tradewind.hub.troubles import Troubles

_SETTINGS = FleetSettings(unplaced_seconds=5, exclude_seconds=100)
_PLACED = binding({"clusters": [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 1}]})


def _sites(*, ready: bool = True, waiting: int = 0) -> Sites:
    of_b = summary_of("b", [node("x")], waiting={_PLACED.workload_name: waiting} if waiting else {})
    return Sites(
        [Site(name="a", summary=summary_of("a", nodes(1)), ready=ready), Site(name="b", summary=of_b)]
    )


def test_all_stay_while_all_is_well() -> None:
    troubles, sites = Troubles(), _sites()
    assert troubles.look([_PLACED], sites, _SETTINGS, 0.0) == set()
    assert troubles.stays(_PLACED, sites) == {"a": 2, "b": 1}


def test_a_silence_is_karmada_s_to_act_upon() -> None:
    troubles, silent = Troubles(), _sites(ready=False)
    for now in (0.0, 9.0, 1e6):
        assert troubles.look([_PLACED], silent, _SETTINGS, now) == set()
    assert troubles.stays(_PLACED, silent) == {"a": 2, "b": 1}


def test_a_site_that_is_removed_is_lost_at_once() -> None:
    troubles, sites = Troubles(), _sites()
    sites.remove("a")
    assert troubles.look([_PLACED], sites, _SETTINGS, 0.0) == {_PLACED.key}
    assert troubles.stays(_PLACED, sites) == {"b": 1}


def test_replicas_without_a_node_come_back_and_the_site_is_out_for_a_while() -> None:
    troubles, sites = Troubles(), _sites(waiting=1)
    assert troubles.look([_PLACED], sites, _SETTINGS, 0.0) == set()
    assert troubles.stays(_PLACED, sites) == {"a": 2, "b": 1}
    assert troubles.look([_PLACED], sites, _SETTINGS, 5.0) == {_PLACED.key}
    assert troubles.excluded(_PLACED.key) == {"b"}
    assert troubles.stays(_PLACED, sites) == {"a": 2}
    assert troubles.look([_PLACED], sites, _SETTINGS, 106.0) == set()
    assert troubles.excluded(_PLACED.key) == set()


def test_pods_that_find_a_node_in_time_are_no_trouble() -> None:
    troubles = Troubles()
    troubles.look([_PLACED], _sites(waiting=1), _SETTINGS, 0.0)
    troubles.look([_PLACED], _sites(), _SETTINGS, 4.0)
    assert troubles.look([_PLACED], _sites(waiting=1), _SETTINGS, 6.0) == set()
