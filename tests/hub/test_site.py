"""A member publishes itself when something changed, and as a sign of life."""

import json
from typing import Any

import pytest

from tests.builders import node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.errors import ApiError, NotFoundError
from tradewind.fleet.settings import SiteSettings
from tradewind.fleet.summary import read_summary
from tradewind.runtime.site import SitePublisher

_SETTINGS = SiteSettings(name="m", region="eu", publish_seconds=1, heartbeat_seconds=30)


class _Hub:
    def __init__(self) -> None:
        self.data: list[str] = []
        self.exists = False
        self.down = False

    def patch(self, path: str, patch: Any) -> bytes:
        if self.down:
            raise ApiError("the API server has fallen silent")
        if not self.exists:
            raise NotFoundError(path, 404)
        self.data.append(patch["data"]["summary"])
        return b"{}"

    def create(self, path: str, body: Any) -> bytes:
        assert path == "/api/v1/namespaces/fleet/configmaps"
        assert body["metadata"]["labels"] == {"tradewind.dev/fleet": "summary"}
        assert body["metadata"]["annotations"] == {"tradewind.dev/site": "m"}
        self.exists = True
        self.data.append(body["data"]["summary"])
        return b"{}"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("tradewind.runtime.site.time.time", lambda: now[0])
    return now


def _publisher(hub: Any) -> tuple[SitePublisher, Cache]:
    cache = Cache(offer_of)
    cache.apply_node(node("a").price(0.1).build())
    return SitePublisher(cache, hub, "fleet", lambda: _SETTINGS), cache


def test_writes_when_something_changed_and_as_a_sign_of_life(clock: list[float]) -> None:
    hub = _Hub()
    publisher, cache = _publisher(hub)
    publisher.run()
    assert read_summary(hub.data[0], "m").place.region == "eu"
    clock[0] += 2
    publisher.run()
    assert len(hub.data) == 1  # nothing has changed
    owned = pod("w").owner("ReplicaSet", "web-1", "r").label("pod-template-hash", "1").build()
    cache.apply_pod(owned)
    publisher.run()
    assert read_summary(hub.data[1], "m").waiting == {"Deployment default/web": 1}
    cache.remove_pod(owned.uid)
    publisher.run()
    assert len(hub.data) == 2  # too soon
    clock[0] += 31
    publisher.run()
    clock[0] += 31
    publisher.run()
    assert len(hub.data) == 4
    assert json.loads(hub.data[3])["time"] == clock[0]


def test_a_hub_that_is_down_is_told_and_tried_again(clock: list[float]) -> None:
    hub = _Hub()
    publisher, _ = _publisher(hub)
    hub.down = True
    publisher.run()
    assert "silent" in publisher.trouble
    hub.down = False
    clock[0] += 1
    publisher.run()
    assert (len(hub.data), publisher.trouble) == (1, "")
