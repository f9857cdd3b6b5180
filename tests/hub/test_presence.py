"""A scheduler whose Lease no longer changes is gone, by our own clock."""

from collections.abc import Callable
from typing import Any

import msgspec
from kubernetes.client import ApiClient, Configuration

from tradewind.hub.presence import Presence, _Leases


def _leases(**versions: int) -> _Leases:
    items: list[dict[str, Any]] = [
        {
            "metadata": {"name": f"tradewind-fleet.{name}", "resourceVersion": str(version)},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 15},
        }
        for name, version in versions.items()
    ]
    others = ("tradewind-planner", "windmill-fleet.it")
    items += [{"metadata": {"name": lease}, "spec": {"holderIdentity": "other"}} for lease in others]
    return msgspec.convert({"items": items}, _Leases)


def _presence(on_change: Callable[[], None] = lambda: None) -> Presence:
    api = ApiClient(Configuration())
    return Presence(api, "fleet", "me", scheduler_name="tradewind", on_change=on_change)


def test_alive_while_its_lease_changes() -> None:
    changes: list[int] = []
    presence = _presence(lambda: changes.append(1))
    presence.look(_leases(me=1, you=1), 0.0)
    assert presence.alive == {"me", "you"}
    presence.look(_leases(me=2, you=1), 14.0)
    assert presence.alive == {"me", "you"}
    presence.look(_leases(me=3, you=1), 15.0)
    assert presence.alive == {"me"}
    presence.look(_leases(me=4, you=2), 16.0)
    assert presence.alive == {"me", "you"}
    presence.look(_leases(me=4), 17.0)
    assert presence.alive == {"me"}
    assert len(changes) == 4


def test_we_are_alive_whatever_the_others_see() -> None:
    presence = _presence()
    presence.look(_leases(), 0.0)
    assert presence.alive == {"me"}
