"""kube-scheduler calls over HTTPS with its certificate; who has none is refused."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from e2e import objects, outcomes, scheduler
from e2e.api import Api
from e2e.certs import Authority, KeyPair
from e2e.conftest import AddNodes, StartScheduler
from e2e.plane import ControlPlane
from e2e.tradewind import Tls, Tradewind

_REQUEST = b'{"Pod":{"metadata":{"name":"web","namespace":"shop"}},"Nodes":null,"NodeNames":[]}'

# Which of the two depends on whether the alert or the end of the connection is seen first.
_REFUSED = (urllib3.exceptions.SSLError, urllib3.exceptions.ProtocolError)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki", "extenders")


@pytest.fixture
def secured(plane: ControlPlane, role_kubeconfig: Path, authority: Authority) -> Iterator[Tradewind]:
    tls = Tls(serving=authority.server("tradewind"), client_ca=authority.cert)
    service = Tradewind(plane.workspace, role_kubeconfig, tls=tls, name="tradewind-tls")
    yield service
    service.stop()


def test_scheduler_with_a_certificate_is_served(
    *,
    api: Api,
    secured: Tradewind,
    authority: Authority,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
    namespace: str,
) -> None:
    client = authority.client("system:kube-scheduler")
    entry = scheduler.extender(secured.url, weight=10, ca=authority.cert, client=client)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    add_nodes(objects.node("cheap", price=0.05), objects.node("dear", price=0.80))
    api.create(objects.pod("web", namespace))
    assert outcomes.bound_node(api, namespace, "web") == "cheap"
    assert secured.metric("tradewind_requests_total", verb="prioritize", outcome="ok") == 1


def test_caller_with_a_certificate_is_served(secured: Tradewind, authority: Authority) -> None:
    assert _call(secured, authority, authority.client("somebody")) == 200


def test_caller_without_a_certificate_is_refused(secured: Tradewind, authority: Authority) -> None:
    with pytest.raises(_REFUSED):
        _call(secured, authority, None)
    assert secured.metric("tradewind_requests_total", verb="filter", outcome="ok") == 0


def test_caller_with_a_strange_certificate_is_refused(
    secured: Tradewind, authority: Authority, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "strange", "strangers").client("system:kube-scheduler")
    with pytest.raises(_REFUSED):
        _call(secured, authority, stranger)
    assert secured.metric("tradewind_requests_total", verb="filter", outcome="ok") == 0


def _call(service: Tradewind, trusted: Authority, client: KeyPair | None) -> int:
    context = ssl.create_default_context(cafile=trusted.cert)
    if client:
        context.load_cert_chain(client.cert, client.key)
    with urllib3.PoolManager(ssl_context=context, retries=False) as pool:
        return pool.request("POST", f"{service.url}/filter", body=_REQUEST).status
