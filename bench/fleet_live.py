"""Bindings a second on a real hub: `tradewind fleet`, one or several at once, and Karmada's own scheduler.

    python -m bench.fleet_live --sites 1000 --bindings 200 --schedulers 1 2 4 4:none stock

Sites are Cluster objects with a written status and a summary; nothing runs there. The hub runs without
Karmada's other controllers. Three of ten bindings name a region. Replicas have one of three sizes, with
`--distinct` nearly each binding another. A run in which a site promised more than it has fails.
"""

import argparse
import random
import resource
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import fleet
from bench.machine import ProcessorTime
from e2e.api import Api
from e2e.karmada_plane import Hub
from e2e.objects import Object, namespace
from e2e.processes import Process
from e2e.tradewind import Service
from tradewind.fleet.ledger import EMPTY, overcommitted, read_ledger
from tradewind.fleet.sites import Site
from tradewind.fleet.summary import encode

_BINDINGS = "/apis/work.karmada.io/v1alpha2/resourcebindings"
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
_MAPS = "/api/v1/namespaces/tradewind-sites/configmaps"
_SECONDS = 300.0
_TENANTS = 10
_SIZES = (250, 500, 1000)  # millicores of a replica
_DISTINCT = range(250, 1001)
_AGGREGATED = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
}


def populate(api: Api, sites: Sequence[Site]) -> None:
    for name in ("tradewind-system", "tradewind-sites"):
        api.create(namespace(name))
    made = api.concurrently("POST", ((CLUSTERS, cluster(site)) for site in sites))
    written = ((f"{CLUSTERS}/{each['metadata']['name']}/status", each | {"status": status(site)})
              for each, site in zip(made, sites, strict=True))  # fmt: skip
    api.concurrently("PUT", written)
    api.concurrently("POST", ((_MAPS, _config_map(site)) for site in sites))


def cluster(site: Site) -> Object:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": site.name},
        "spec": {"syncMode": "Push", "apiEndpoint": f"https://{site.name}.invalid", "region": site.region},
    }


def status(site: Site) -> Object:
    """As Karmada's controller sums it up: all the stock scheduler has."""
    assert site.summary is not None
    total = dict(zip(site.summary.resources, site.summary.allocatable, strict=True))
    free = dict(zip(site.summary.resources, site.summary.free, strict=True))
    allocated = {name: total[name] - free[name] for name in total}
    ready = {"type": "Ready", "status": str(site.ready), "reason": "ClusterReady", "message": ""}
    return {
        "conditions": [{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "apiEnablements": [
            {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}
        ],
        "resourceSummary": {"allocatable": quantities(total), "allocated": quantities(allocated)},
    }


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


def _config_map(site: Site) -> Object:
    assert site.summary is not None
    metadata = {
        "name": f"site-{site.name}",
        "labels": {"tradewind.dev/fleet": "summary"},
        "annotations": {"tradewind.dev/site": site.name},
    }
    return {"metadata": metadata, "data": {"summary": encode(site.summary)}}


def _binding(number: int, scheduler: str, random_: random.Random, sizes: Sequence[int]) -> Object:
    name = f"b-{secrets.token_hex(4)}-{number}"
    placement: Object = dict(_AGGREGATED)
    if random_.random() < 0.3:
        within = {"key": "region", "operator": "In", "values": [random_.choice(fleet.REGIONS)]}
        placement["clusterAffinity"] = {"fieldSelector": {"matchExpressions": [within]}}
    request = {"cpu": f"{random_.choice(sizes)}m", "memory": "1Gi"}
    tenant = f"tenant-{number % _TENANTS}"
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": name,
            "namespace": tenant,
            "labels": {"propagationpolicy.karmada.io/permanent-id": name},
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": tenant, "name": name},
            "replicas": 10,
            "replicaRequirements": {"resourceRequest": request},
            "placement": placement,
            "schedulerName": scheduler,
        },
    }


def burst(api: Api, bindings: Sequence[Object]) -> list[float]:
    """Seconds from the start of the burst to each binding's decision in its status."""
    waiting = {each["metadata"]["name"] for each in bindings}
    started, seconds = time.monotonic(), []
    api.create_all(bindings)
    for change in api.changes(_BINDINGS, _SECONDS):
        conditions = change.object.get("status", {}).get("conditions") or ()
        name = change.object.get("metadata", {}).get("name", "")
        if name in waiting and any(each["type"] == "Scheduled" for each in conditions):
            waiting.discard(name)
            seconds.append(time.monotonic() - started)
        if not waiting:
            return seconds
    raise AssertionError(f"{len(waiting)} bindings got no decision within {_SECONDS:.0f} s")


def one_by_one(api: Api, bindings: Sequence[Object]) -> list[float]:
    return [burst(api, [binding])[0] for binding in bindings]


def over_capacity(api: Api, sites: Sequence[Site]) -> int:
    """Replicas that were promised and have no room on a node of their site."""
    maps = {each["metadata"]["name"]: each for each in api.read(_MAPS)["items"]}
    over = 0
    for site in sites:
        found = maps.get(f"ledger-{site.name}")
        assert site.summary is not None
        over += overcommitted(site.summary, read_ledger(found["data"]["ledger"]) if found else EMPTY)
    return over


def overasked(api: Api, sites: Sequence[Site]) -> int:
    """Millicores asked of sites beyond what they have free, by the bindings themselves."""
    asked: dict[str, int] = {}
    for binding in api.read(_BINDINGS)["items"]:
        cpu = int(binding["spec"]["replicaRequirements"]["resourceRequest"]["cpu"].removesuffix("m"))
        for target in binding["spec"].get("clusters") or ():
            asked[target["name"]] = asked.get(target["name"], 0) + cpu * target["replicas"]
    free = {site.name: site.summary.free[0] for site in sites if site.summary}
    return sum(max(0, amount - free[name]) for name, amount in asked.items())


def run(
    site_count: int, binding_count: int, cases: Sequence[str], sizes: Sequence[int] = _SIZES
) -> Iterator[dict[str, Any]]:
    """One hub for all cases: bindings and ledgers go in between."""
    random_ = random.Random(1)
    fleet.NOW = time.time()
    sites = [fleet.site(number, random_) for number in range(site_count)]
    hub = Hub(webhook=False)
    try:
        for tenant in range(_TENANTS):
            hub.api.create(namespace(f"tenant-{tenant}"))
        populate(hub.api, sites)
        for case in cases:
            figures = _measure(hub, sites, binding_count, case, sizes)
            yield figures
            assert not figures["over capacity"], figures
            _clear(hub.api)
    finally:
        hub.stop()


def _measure(
    hub: Hub, sites: Sequence[Site], binding_count: int, case: str, sizes: Sequence[int]
) -> dict[str, Any]:
    random_ = random.Random(2)
    name = "default-scheduler" if case == "stock" else "tradewind"
    running = _start(hub, case, len(sites))
    services = [each for each in running if isinstance(each, Service)]
    try:
        single = one_by_one(hub.api, [_binding(i, name, random_, sizes) for i in range(20)])
        before = ProcessorTime.now()
        together = burst(hub.api, [_binding(i, name, random_, sizes) for i in range(binding_count)])
        used = _milliseconds(hub, before, binding_count)
        conflicts = sum(each.metric("tradewind_fleet_conflicts_total") for each in services)
        forwarded = sum(
            each.metric("tradewind_fleet_decisions_total", outcome="forwarded") for each in services
        )
        p50, p99 = np.percentile(single, [50, 99])
        decided = 20 + binding_count
        return {
            "sites": len(sites),
            "schedulers": case,
            "one binding p50 ms": round(p50 * 1000),
            "one binding p99 ms": round(p99 * 1000),
            "bindings a second": round(binding_count / max(together), 1),
            **used,
            "conflicts in 100 bindings": round(100 * conflicts / decided, 1),
            "forwarded %": round(100 * forwarded / decided, 1),
            "MiB of one": round(max((_mib(each.process.pid) for each in services), default=0)),
            "over capacity": over_capacity(hub.api, sites),
            "cores overasked": overasked(hub.api, sites) / 1000,
        }
    finally:
        for each in running:
            each.kill()


def _milliseconds(hub: Hub, before: ProcessorTime, bindings: int) -> dict[str, float]:
    """Processor time a binding: of the schedulers, of the API server with etcd, of all that is not ours."""
    after = ProcessorTime.now()
    seconds = {"schedulers": 0.0, "API server": 0.0}
    for each in hub.workspace.processes:
        if each.running:
            ours = each.name.startswith("fleet-") or each.name == "karmada-scheduler"
            of_hub = each.name in {"kube-apiserver", "etcd"}
            who = "schedulers" if ours else "API server" if of_hub else ""
            seconds[who] = seconds.get(who, 0.0) + after.of(each.pid, before)
    seconds["others"] = after.of_others(before)
    return {f"CPU ms of {who}": round(1000 * each / bindings, 1) for who, each in seconds.items() if who}


def _mib(pid: int) -> float:
    """Resident, now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def _clear(api: Api) -> None:
    for tenant in range(_TENANTS):
        api.delete(f"/apis/work.karmada.io/v1alpha2/namespaces/tenant-{tenant}/resourcebindings")
    api.delete(_MAPS, labelSelector="tradewind.dev/fleet=ledger")
    while (
        api.read(_BINDINGS)["items"] or api.read(_MAPS, labelSelector="tradewind.dev/fleet=ledger")["items"]
    ):
        time.sleep(0.2)


def _start(hub: Hub, case: str, site_count: int) -> Sequence[Service | Process]:
    if case == "stock":
        stock = hub.start_stock_scheduler(
            "--feature-gates=CustomizedClusterResourceModeling=false",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        )
        return [stock]
    schedulers, _, gap = case.partition(":")
    settings: dict[str, Any] = {"fleet": {"summarySeconds": 86_400, "promiseSeconds": 86_400}}
    if gap:
        settings["fleet"]["forwardGap"] = None if gap == "none" else float(gap)
    services = [
        Service(
            hub.workspace,
            "fleet",
            f"fleet-{number}",
            flags={"--kubeconfig": hub.kubeconfig},
            settings=settings,
            environment={"POD_NAME": f"fleet-{number}"},
        )
        for number in range(int(schedulers))
    ]
    for service in services:
        service.wait_metric("tradewind_fleet_sites", site_count, state="usable", seconds=_SECONDS)
    return services


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet_live")
    parser.add_argument("--sites", type=int, nargs="+", default=[1_000])
    parser.add_argument("--bindings", type=int, default=200)
    parser.add_argument(
        "--schedulers",
        nargs="+",
        default=["1", "2", "4", "4:none", "stock"],
        help="how many, with forwardGap after a colon; stock is Karmada's",
    )
    parser.add_argument("--distinct", action="store_true", help="hardly two bindings ask for the same")
    options = parser.parse_args()
    for count in options.sites:
        sizes = _DISTINCT if options.distinct else _SIZES
        for figures in run(count, options.bindings, options.schedulers, sizes):
            print(figures, flush=True)


if __name__ == "__main__":
    main()
