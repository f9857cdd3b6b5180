"""A cache, a server that plays a script, and reflectors between them."""

import time
from collections.abc import Callable, Iterator

import pytest
from kubernetes.client import ApiClient, Configuration

from tests.builders import offer_of
from tests.cluster.scripted import PATIENCE_SECONDS, ScriptedApi
from tests.synced import wait_synced
from tradewind.cluster.cache import Cache
from tradewind.cluster.reflector import Reflector, cluster_resources
from tradewind.kube.watch import Pace, Watch

# No read ends by itself before the patience of the test does.
QUIET = Pace(patience_seconds=10 * PATIENCE_SECONDS, first_delay_seconds=0.01, max_delay_seconds=0.02)
IMPATIENT = Pace(watch_seconds=1, patience_seconds=1, first_delay_seconds=0.01, max_delay_seconds=0.02)

Start = Callable[..., Reflector]


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    server = ScriptedApi()
    yield server
    server.close()


@pytest.fixture
def cache() -> Cache:
    return Cache(offer_of)


@pytest.fixture
def start(api: ScriptedApi, cache: Cache) -> Iterator[Start]:
    """Starts a reflector and waits for its lists; in the end all its threads must have ended."""
    started: list[Reflector] = []

    def start(pace: Pace = QUIET, *, synced: bool = True) -> Reflector:
        reflector = Reflector(ApiClient(Configuration(host=api.url)), cluster_resources(cache), pace)
        started.append(reflector)
        reflector.start()
        assert not synced or wait_synced(reflector, PATIENCE_SECONDS), troubles(reflector)
        return reflector

    yield start
    for reflector in started:
        reflector.stop()
        assert not any(thread.is_alive() for thread in reflector._threads)


def watch_of(reflector: Reflector, resource: str) -> Watch:
    return next(each for each in reflector.watches if each.name == resource)


def eventually(condition: Callable[[], bool]) -> None:
    """For what changes without a notice."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_for_pods(cache: Cache, *uids: str) -> None:
    eventually(lambda: cache._pods.keys() == set(uids))


def wait_for_nodes(cache: Cache, *names: str) -> None:
    eventually(lambda: cache._nodes.keys() == set(names))


def troubles(reflector: Reflector) -> dict[str, str]:
    """What keeps resources from being watched just now."""
    return {watch.name: watch.trouble for watch in reflector.watches if watch.trouble}
