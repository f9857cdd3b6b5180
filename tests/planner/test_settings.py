"""The key `planner` of the configuration, and the keys that it had in the version before."""

import pytest
from pydantic import ValidationError

from tradewind.planner.rent import Rent
from tradewind.planner.settings import BatchSettings, PlannerSettings, PoolTemplate

_POOL = {"name": "large", "resources": {"cpu": 16}, "price": 3}


def test_keys_of_the_version_before_are_read() -> None:
    batch = BatchSettings.model_validate({"events": 7, "mostPods": 70})
    assert (batch.pods, batch.max_pods) == (7, 70)
    assert PoolTemplate.model_validate({**_POOL, "most": 3}).max_nodes == 3


def test_what_room_and_opening_cost() -> None:
    keys = {"rent": 3, "durableRent": 1, "opening": 0.7, "openingAtMedian": 0.2}
    found = PlannerSettings.model_validate(keys).rents
    assert found == Rent(room=3, durable=1, opening=0.7, at_median=0.2)
    assert PlannerSettings().rents == Rent(room=2, durable=0, opening=0.5, at_median=0)


def test_keys_of_this_version() -> None:
    batch = BatchSettings.model_validate({"pods": 7, "maxPods": 70})
    assert (batch.pods, batch.max_pods) == (7, 70)
    assert PoolTemplate.model_validate({**_POOL, "maxNodes": 3}).max_nodes == 3


def test_a_key_by_both_of_its_names_is_refused() -> None:
    with pytest.raises(ValidationError, match='"events" is the old name of "pods"'):
        BatchSettings.model_validate({"events": 7, "pods": 8})


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"batch": {"event": 7}}, id="a key that never was"),
        pytest.param({"batch": {"seconds": 0}}, id="no time"),
        pytest.param({"batch": 7}, id="no mapping"),
        pytest.param({"pools": [{**_POOL, "resources": {"cpu": "much"}}]}, id="no quantity"),
        pytest.param({"pools": [_POOL, _POOL]}, id="two pools of one name"),
    ],
)
def test_what_makes_no_sense_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PlannerSettings.model_validate(document)


def test_the_engine_is_the_cheapest_unless_the_flow_is_asked_for() -> None:
    assert PlannerSettings().engine == "auto"
    assert PlannerSettings.model_validate({"engine": "flow"}).engine == "flow"
    with pytest.raises(ValidationError):
        PlannerSettings.model_validate({"engine": "simplex"})
