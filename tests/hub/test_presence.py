"""A scheduler whose Lease no longer changes is gone, by our own clock."""

from typing import Any

import msgspec
from kubernetes.client import ApiClient, Configuration

from tradewind.hub.presence import PREFIX, Presence, _Leases


def _leases(**versions: int) -> _Leases:
    items: list[dict[str, Any]] = [
        {
            "metadata": {"name": PREFIX + name, "resourceVersion": str(version)},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 15},
        }
        for name, version in versions.items()
    ]
    items.append({"metadata": {"name": "tradewind-planner"}, "spec": {"holderIdentity": "other"}})
    return msgspec.convert({"items": items}, _Leases)


def test_alive_while_its_lease_changes() -> None:
    changes: list[int] = []
    presence = Presence(ApiClient(Configuration()), "fleet", "me", on_change=lambda: changes.append(1))
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
    presence = Presence(ApiClient(Configuration()), "fleet", "me")
    presence.look(_leases(), 0.0)
    assert presence.alive == {"me"}
