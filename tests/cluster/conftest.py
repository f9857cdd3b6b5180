"""A cache, a server that plays a script, and reflectors between them."""

import time
from collections.abc import Callable, Iterator

import pytest
from kubernetes.client import ApiClient, Configuration

from cluster.cache import Cache
from cluster.reflector import Reflector
from cluster.watch import Pace, Watch
from tests.builders import offer_of
from tests.cluster.scripted import PATIENCE_SECONDS, ScriptedApi

# Long enough that no read ends by itself before the patience of the test does.
QUIET = Pace(read_seconds=10 * PATIENCE_SECONDS, first_delay_seconds=0.01, max_delay_seconds=0.02)
IMPATIENT = Pace(read_seconds=3, first_delay_seconds=0.01, max_delay_seconds=0.02)

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
        reflector = Reflector(ApiClient(Configuration(host=api.url)), cache, pace)
        started.append(reflector)
        reflector.start()
        assert not synced or reflector.wait_synced(PATIENCE_SECONDS), reflector.troubles()
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
    with cache._changed:
        assert cache._changed.wait_for(lambda: cache._pods.keys() == set(uids), PATIENCE_SECONDS)


def wait_for_nodes(cache: Cache, *names: str) -> None:
    with cache._changed:
        assert cache._changed.wait_for(lambda: cache._nodes.keys() == set(names), PATIENCE_SECONDS)
