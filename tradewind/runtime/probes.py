"""Probes, metrics and version: the part of the HTTP surface that every process has."""

from collections.abc import Callable, Sequence
from typing import Protocol

from fastapi import FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from pydantic import BaseModel

from tradewind.cluster.cache import Cache
from tradewind.cluster.metrics import ClusterMetrics, WatchView
from tradewind.version import VERSION


class ClusterView(Protocol):
    """What the probes and the metrics show of the cluster state."""

    @property
    def name(self) -> str: ...

    @property
    def cache(self) -> Cache: ...

    @property
    def synced(self) -> bool: ...

    @property
    def stale(self) -> str: ...

    @property
    def watches(self) -> Sequence[WatchView]: ...


class Health(BaseModel):
    status: str


class Readiness(BaseModel):
    ready: bool
    reason: str


class Version(BaseModel):
    version: str
    cluster: str


def add_health(app: FastAPI, missed: Callable[[], str]) -> None:
    @app.get("/healthz", summary="Is the process alive?", responses={503: {"model": Health}})
    async def healthz(response: Response) -> Health:
        found = missed()
        if found:
            response.status_code = 503
        return Health(status=found or "ok")


def add_probes(
    app: FastAPI,
    cluster: ClusterView,
    registry: CollectorRegistry,
    before_metrics: Callable[[], None] = lambda: None,
    *,
    trouble: Callable[[], str] = lambda: "",
    missed: Callable[[], str] = lambda: "",
) -> None:
    """`before_metrics` brings gauges up to date that others keep; with any `trouble` we are not ready.

    `missed` are the heartbeats of loops that no longer do their work: only a restart helps.
    """
    metrics = ClusterMetrics(registry, cluster.watches)
    Gauge("tradewind_build_info", "Always 1.", ["version"], registry=registry).labels(VERSION).set(1)

    add_health(app, missed)

    @app.get("/readyz", summary="Can it do its work?", responses={503: {"model": Readiness}})
    async def readyz(response: Response) -> Readiness:
        found = cluster.stale or trouble()
        if cluster.synced and not found:
            return Readiness(ready=True, reason="the cluster state is complete")
        response.status_code = 503
        if cluster.synced:
            return Readiness(ready=False, reason=found)
        troubles = "".join(f"; {watch.name}: {watch.trouble}" for watch in cluster.watches if watch.trouble)
        reason = "the first list of nodes, pods and namespaces is under way"
        return Readiness(ready=False, reason=reason + troubles)

    @app.get("/version", summary="Which Tradewind is this, and which cluster does it serve?")
    async def show_version() -> Version:
        return Version(version=VERSION, cluster=cluster.name)

    @app.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
    async def show_metrics() -> Response:
        before_metrics()
        metrics.observe(cluster.cache.counts(), synced=cluster.synced, stale=bool(cluster.stale))
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
