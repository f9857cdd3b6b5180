"""Karmada's own scheduler as a contender of `bench.fleet_money`: a real one, asked about each request.

    python -m bench.fleet_money --requests 625 --hours 6 --stock

Its hub has the day's sites as Cluster objects. Each has the status that Karmada's controller would sum up,
and its taint while it is away, written anew before a request where they have changed. A request is a
ResourceBinding with the replicas that it has; it goes when it is answered.
"""

import time
from collections.abc import Mapping
from typing import Self

import msgspec

from bench import fleet_live
from e2e.karmada_plane import Hub
from e2e.objects import Object, namespace
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Site, Sites
from tradewind.hub.records import APPLIED_PLACEMENT

_BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/fleet/resourcebindings"
_AWAY = {"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}
_SECONDS = 60.0
_POLL_SECONDS = 0.01


class Stock:
    def __init__(self) -> None:
        self._hub = Hub(webhook=False)
        self._api = self._hub.api
        self._written: dict[str, Object] = {}
        self._number = 0

    def __enter__(self) -> Self:
        self._api.create(namespace("fleet"))
        self._hub.start_stock_scheduler("--feature-gates=CustomizedClusterResourceModeling=false")
        return self

    def __exit__(self, *_: object) -> None:
        self._hub.stop()

    def place(self, request: Request, sites: Sites) -> Mapping[str, int] | None:
        for site in sites.records:
            if site is not None:
                self._write(site)
        self._number += 1
        name = f"{request.key}-{self._number}"
        self._api.create(_binding(name, request))
        try:
            return self._answer(f"{_BINDINGS}/{name}")
        finally:
            self._api.delete(f"{_BINDINGS}/{name}")

    def _write(self, site: Site) -> None:
        status = fleet_live.status(site)
        if self._written.get(site.name) != status:
            path = f"{fleet_live.CLUSTERS}/{site.name}"
            if site.name not in self._written:
                self._api.create(fleet_live.cluster(site))
            found = self._api.patch(path, {"spec": {"taints": [] if site.ready else [_AWAY]}})
            self._api.request("PUT", f"{path}/status", found | {"status": status})
            self._written[site.name] = status

    def _answer(self, path: str) -> Mapping[str, int] | None:
        """None where it says that there is no place."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            binding = self._api.read(path)
            for each in binding.get("status", {}).get("conditions") or ():
                if each["type"] == "Scheduled":
                    targets = binding["spec"].get("clusters") or ()
                    placed = {target["name"]: target.get("replicas", 0) for target in targets}
                    return placed if each["status"] == "True" else None
            time.sleep(_POLL_SECONDS)
        raise AssertionError(f"{path} got no answer within {_SECONDS:.0f} s")


def _binding(name: str, request: Request) -> Object:
    placement = msgspec.to_builtins(request.placement)
    metadata: Object = {
        "name": name,
        "namespace": "fleet",
        "labels": {"propagationpolicy.karmada.io/permanent-id": name},
    }
    clusters = [{"name": site, "replicas": count} for site, count in request.current.items()]
    if clusters:  # what is missing is divided: else it would be decided anew
        metadata["annotations"] = {APPLIED_PLACEMENT: msgspec.json.encode(placement).decode()}
    claim = {"nodeSelector": dict(request.pod.node_selector)}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": metadata,
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "fleet", "name": name},
            "replicas": request.replicas,
            "replicaRequirements": {
                "resourceRequest": fleet_live.quantities(
                    {key: each for key, each in request.requests.items() if key != "pods"}
                ),
                "nodeClaim": claim,
            },
            "placement": placement,
            "clusters": clusters,
            "schedulerName": "default-scheduler",
        },
    }
