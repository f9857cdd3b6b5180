"""Who leads, as a real API server keeps it: given up, killed, frozen, claimed by many at once."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import ApiClient

from e2e import fake
from e2e.api import Api, path
from e2e.objects import Object
from e2e.plane import ControlPlane
from tradewind.kube.access import connect
from tradewind.kube.leader import Leader

_NAME = "tradewind-planner"
_SECONDS = 60.0
# Nothing runs out while a test looks at something else.
_LONG = {"duration": 10 * _SECONDS, "retry": 0.1}
_SHORT = {"duration": 3.0, "retry": 0.2}

Join = Callable[..., "Candidate"]


class Candidate(Leader):
    """Remembers what it was told."""

    def __init__(self, api: ApiClient, namespace: str, identity: str, **seconds: Any) -> None:
        super().__init__(api, namespace, _NAME, identity, **seconds, on_change=self._note)
        self.told: list[bool] = []
        self._noted = threading.Condition()

    def _note(self, leading: bool) -> None:
        with self._noted:
            self.told.append(leading)
            self._noted.notify_all()

    def wait_told(self, *told: bool) -> None:
        with self._noted:
            assert self._noted.wait_for(lambda: self.told == list(told), _SECONDS), (self.told, self.trouble)


@pytest.fixture
def client(plane: ControlPlane) -> ApiClient:
    return access(plane.kubeconfig)


def access(kubeconfig: Path) -> ApiClient:
    connected = connect(kubeconfig)
    assert connected
    return connected[1]


@pytest.fixture
def join(client: ApiClient, namespace: str) -> Iterator[Join]:
    """Candidates of one test."""
    joined: list[Candidate] = []

    def join(identity: str, api: ApiClient = client, **seconds: float) -> Candidate:
        joined.append(Candidate(api, namespace, identity, **seconds))
        joined[-1].start()
        return joined[-1]

    yield join
    for candidate in joined:
        candidate.stop()


def read(api: Api, namespace: str) -> Object:
    spec: Object = api.read(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{_NAME}")["spec"]
    return spec


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_what_is_given_up_is_led_by_the_next_at_once(api: Api, namespace: str, join: Join) -> None:
    first = join("first", **_LONG)
    first.wait_told(True)
    second = join("second", **_LONG)
    assert read(api, namespace)["holderIdentity"] == "first"
    first.stop()
    second.wait_told(True)  # long before the Lease would have run out
    assert first.told == [True, False]
    assert not first.leading
    lease = read(api, namespace)
    assert (lease["holderIdentity"], lease["leaseTransitions"]) == ("second", 1)


def test_what_is_given_up_has_no_holder(api: Api, namespace: str, join: Join) -> None:
    only = join("only", **_LONG)
    only.wait_told(True)
    only.stop()
    assert "holderIdentity" not in read(api, namespace)


_LEAD = """
import signal, sys
from pathlib import Path
from tradewind.kube.leader import Leader
from tradewind.kube.access import connect
kubeconfig, namespace = sys.argv[1:]
Leader(connect(Path(kubeconfig))[1], namespace, "tradewind-planner", "killed", duration=3, retry=0.2).start()
signal.pause()
"""


def test_a_killed_leader_is_followed_when_its_lease_has_run_out(
    plane: ControlPlane, api: Api, namespace: str, join: Join
) -> None:
    command = [sys.executable, "-c", _LEAD, str(plane.kubeconfig), namespace]
    killed = plane.workspace.start("leader", command)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    assert next(change for change in api.changes(leases, _SECONDS) if change.object)
    second = join("second", **_SHORT)
    killed.kill()
    last = read(api, namespace)
    assert last["holderIdentity"] == "killed"
    second.wait_told(True)
    waited = instant(read(api, namespace)["acquireTime"]) - instant(last["renewTime"])
    print(f"\nthe second leads {waited.total_seconds():.1f} s after the last renewal of the first")
    assert waited.total_seconds() >= 3


def test_behind_a_frozen_api_server_nobody_leads(plane: ControlPlane, join: Join) -> None:
    leader = join("leader", **_SHORT)
    leader.wait_told(True)
    server = next(process for process in plane.workspace.processes if process.name == "kube-apiserver")
    os.kill(server.pid, signal.SIGSTOP)
    try:
        leader.wait_told(True, False)
        assert not leader.leading
    finally:
        os.kill(server.pid, signal.SIGCONT)
    leader.wait_told(True, False, True)


@pytest.mark.parametrize("year", [2001, 2999], ids=["a clock that is slow", "a clock that is fast"])
def test_the_clock_of_the_holder_is_not_believed(api: Api, namespace: str, join: Join, year: int) -> None:
    then = f"{year}-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "gone", "leaseDurationSeconds": 2, "acquireTime": then, "renewTime": then}
    api.create(lease(namespace, spec))
    begin = datetime.now(UTC)
    join("heir", **_SHORT).wait_told(True)
    assert (instant(read(api, namespace)["acquireTime"]) - begin).total_seconds() >= 2


def test_of_many_that_claim_at_once_one_leads(join: Join) -> None:
    candidates = [join(f"candidate-{number}", duration=600.0, retry=0.02) for number in range(8)]
    for turn in range(len(candidates)):
        leader = next_leader(candidates)
        assert [candidate.leading for candidate in candidates].count(True) == 1, turn
        leader.stop()
        candidates.remove(leader)


def next_leader(candidates: list[Candidate]) -> Candidate:
    eventually(lambda: any(candidate.leading for candidate in candidates))
    return next(candidate for candidate in candidates if candidate.leading)


def eventually(condition: Callable[[], bool]) -> None:
    """For what changes without a notice."""
    end = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_deleted_lease_is_made_anew(api: Api, namespace: str, join: Join) -> None:
    leader = join("leader", **_LONG)
    leader.wait_told(True)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    api.delete(f"{leases}/{_NAME}")
    made = (change for change in api.changes(leases, _SECONDS) if change.type == "ADDED")
    assert next(made).object["spec"]["holderIdentity"] == "leader"
    assert leader.told == [True]


def test_what_others_keep_on_the_lease_stays(api: Api, namespace: str, join: Join) -> None:
    api.create(lease(namespace, {}, {"kept": "yes"}))
    join("leader", **_LONG).wait_told(True)
    assert api.read(path(lease(namespace, {})))["metadata"]["labels"] == {"kept": "yes"}


def test_without_permission_nobody_leads_until_it_is_given(
    plane: ControlPlane, api: Api, namespace: str, join: Join
) -> None:
    stranger = access(plane.user_kubeconfig("stranger"))
    candidate = join("stranger", stranger, **_LONG)
    eventually(lambda: "the API server answers 403: leases" in candidate.trouble)
    assert candidate.told == []
    with fake.existing(api, permission(namespace)):
        candidate.wait_told(True)
        assert candidate.trouble == ""


def lease(namespace: str, spec: Object, labels: dict[str, str] | None = None) -> Object:
    metadata = {"name": _NAME, "namespace": namespace, "labels": labels or {}}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def permission(namespace: str) -> list[Object]:
    """What a candidate needs, and no more."""
    group = "rbac.authorization.k8s.io"
    metadata = {"name": "candidate", "namespace": namespace}
    rules = [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [_NAME],
            "verbs": ["get", "patch"],
        },
    ]
    return [
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "candidate"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "stranger"}],
        },
    ]


def test_a_leader_whose_loop_hangs_is_followed(api: Api, namespace: str, join: Join) -> None:
    hangs = threading.Event()
    first = join("first", **_SHORT, unfit=lambda: "loop planning: late" if hangs.is_set() else "")
    first.wait_told(True)
    second = join("second", **_SHORT)
    hangs.set()
    second.wait_told(True)
    first.wait_told(True, False)
    assert read(api, namespace)["holderIdentity"] == "second"
