import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from tests.builders import offer_of
from tradewind.cluster.cache import Cache
from tradewind.runtime.probes import add_probes


class Cluster:
    name = "a cluster"
    stale = ""
    watches: tuple[()] = ()

    def __init__(self, *, synced: bool) -> None:
        self.synced = synced
        self.cache = Cache(offer_of)


@pytest.mark.parametrize(
    ("synced", "trouble", "status", "reason"),
    [
        (True, "", 200, "the cluster state is complete"),
        (True, "nobody leads", 503, "nobody leads"),
        (False, "", 503, "the first list of nodes, pods and namespaces is under way"),
        (False, "nobody leads", 503, "the first list of nodes, pods and namespaces is under way"),
    ],
)
def test_ready_is_who_knows_the_cluster_and_has_no_trouble(
    synced: bool, trouble: str, status: int, reason: str
) -> None:
    app = FastAPI()
    add_probes(app, Cluster(synced=synced), CollectorRegistry(), trouble=lambda: trouble)
    answer = TestClient(app).get("/readyz")
    assert (answer.status_code, answer.json()) == (status, {"ready": status == 200, "reason": reason})


@pytest.mark.parametrize(
    ("missed", "status", "said"),
    [("", 200, "ok"), ("loop planning: late", 503, "loop planning: late")],
)
def test_who_misses_a_heartbeat_is_not_alive(missed: str, status: int, said: str) -> None:
    app = FastAPI()
    add_probes(app, Cluster(synced=True), CollectorRegistry(), missed=lambda: missed)
    answer = TestClient(app).get("/healthz")
    assert (answer.status_code, answer.json()) == (status, {"status": said})
