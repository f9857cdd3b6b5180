"""Why a pod is where it is, asked of a service that a real kube-scheduler has asked before."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from e2e import fake, manifests, objects, outcomes, scheduler
from e2e.api import Api
from e2e.certs import Authority
from e2e.conftest import AddNodes, StartScheduler, next_name
from e2e.installation.installation import eventually
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.processes import free_port
from e2e.tradewind import Tradewind
from scoring.filters.disk_type import DiskType


def explained(tradewind: Tradewind, pod: str) -> str:
    command = [sys.executable, "-m", "tradewind", "explain", "--server", tradewind.explain, pod]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_explain_says_where_a_pod_is_and_why(
    api: Api, tradewind: Tradewind, start_scheduler: StartScheduler, add_nodes: AddNodes, namespace: str
) -> None:
    entry = scheduler.extender(tradewind.url, weight=200, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    add_nodes(objects.node("cheap", price=0.1), objects.node("dear", price=0.4))
    api.create(objects.pod("web", namespace, cpu="1", memory="1Gi"))
    api.create(objects.pod("odd", namespace, annotations={"tradewind.dev/disk-type": "tape"}))
    assert outcomes.bound_node(api, namespace, "web") == "cheap"
    outcomes.unschedulable(api, namespace, "odd")

    # A quarter of a node of 4 cores: 0.025 and 0.1 dollars an hour.
    told = " ".join(explained(tradewind, f"{namespace}/web").split())
    assert f"{namespace}/web is placed on cheap ($0.0250/h) because it offers a lower price" in told
    assert "$0.0250/h instead of $0.100/h" in told

    told = " ".join(explained(tradewind, f"{namespace}/odd").split())
    assert DiskType.reason in told
    answer = urllib3.request("GET", f"{tradewind.explain}/explain/{namespace}/odd").json()
    assert answer["candidates"]["passed"] == 0


def test_a_pod_that_was_never_seen_is_said_to_be_so(tradewind: Tradewind) -> None:
    answer = urllib3.request("GET", f"{tradewind.explain}/explain/nowhere/nothing")
    assert answer.status == 404
    assert "nowhere/nothing" in answer.json()["detail"]


class Exposed(Tradewind):
    """Serves explain to the network too, with the account and the roles of the manifests."""

    def __init__(self, plane: ControlPlane, kubeconfig: Path, authority: Authority) -> None:
        port, pair = free_port(), authority.server("explain")
        self.exposed = f"https://127.0.0.1:{port}"
        self.ca = authority.cert
        flags = ["--expose-host=127.0.0.1", f"--expose-port={port}", f"--expose-cert-file={pair.cert}"]
        flags.append(f"--expose-private-key-file={pair.key}")
        super().__init__(plane.workspace, kubeconfig, name=next_name("exposed"), switches=flags)

    def ask(self, token: str = "") -> urllib3.BaseHTTPResponse:
        with urllib3.PoolManager(ca_certs=str(self.ca)) as pool:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return pool.request("GET", f"{self.exposed}/explain/no/body", headers=headers, retries=False)


@pytest.fixture
def exposed(plane: ControlPlane, api: Api, role_kubeconfig: Path, tmp_path: Path) -> Iterator[Exposed]:
    with fake.existing(api, manifests.component_roles("explain")):
        service = Exposed(plane, role_kubeconfig, Authority(tmp_path / "pki"))
        yield service
        service.stop()


def account(name: str, namespace: str) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def reader(name: str, namespace: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"reads-explanations-{namespace}"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "tradewind-explain-reader",
        },
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }


def test_on_the_network_the_api_server_says_who_may_ask(
    api: Api, exposed: Exposed, plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    for name in ("reader", "stranger"):
        api.create(account(name, namespace))
    token_of = {name: fake.service_account_token(api, namespace, name) for name in ("reader", "stranger")}
    with fake.existing(api, [reader("reader", namespace)]):
        assert exposed.ask().status == 401
        assert exposed.ask("no-such-token").status == 401
        refused = exposed.ask(token_of["stranger"])
        assert refused.status == 403
        assert f"system:serviceaccount:{namespace}:stranger" in refused.json()["detail"]
        assert exposed.ask(token_of["reader"]).status == 404  # let in; nobody has asked about that pod
        assert exposed.metric("tradewind_explain_requests_total", outcome="allowed") == 1

        file = tmp_path / "token"
        file.write_text(token_of["reader"])
        kubeconfig = plane.token_kubeconfig("reader", token_of["reader"])
        for credentials in (["--token-file", str(file)], ["--kubeconfig", str(kubeconfig)]):
            command = ["explain", "no/body", "--server", exposed.exposed, "--ca-file", str(exposed.ca)]
            done = subprocess.run(
                [sys.executable, "-m", "tradewind", *command, *credentials],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert "did not ask this Tradewind about pod no/body" in done.stderr
    probes = urllib3.request("GET", f"{exposed.probes}/explain/no/body")
    assert (probes.status, probes.json()) == (404, {"detail": "Not Found"})


@pytest.mark.parametrize("resource", ["tokenreviews", "subjectaccessreviews"])
def test_without_a_permission_to_review_nobody_is_let_in(
    api: Api, exposed: Exposed, namespace: str, resource: str
) -> None:
    api.create(account("reader", namespace))
    token = fake.service_account_token(api, namespace, "reader")
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/tradewind-explain"
    rules = [rule for rule in api.read(path)["rules"] if resource not in rule["resources"]]
    assert len(rules) == 1
    api.patch(path, {"rules": rules})
    eventually(lambda: exposed.ask(token).status == 503)
    assert "cannot create resource" in exposed.ask(token).json()["detail"]
