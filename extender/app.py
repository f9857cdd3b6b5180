"""The HTTP surface: two small applications, one for kube-scheduler and one for probes and people."""

from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from typing import Protocol

from fastapi import FastAPI, HTTPException, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from cluster.cache import Cache
from extender.decisions import Decisions
from extender.explain import Explanation, explain
from extender.metrics import Metrics
from extender.verbs import Answer, Verbs

VERSION = version("tradewind")

_NOT_ASKED = (
    "kube-scheduler did not ask this Tradewind about pod {pod}, or so long ago that it is forgotten; "
    "where there are several replicas, another one may know"
)


class ClusterView(Protocol):
    """What the probes and the metrics show of the cluster state."""

    @property
    def cache(self) -> Cache: ...

    @property
    def synced(self) -> bool: ...

    def ages(self) -> Mapping[str, float]: ...


class Health(BaseModel):
    status: str


class Readiness(BaseModel):
    ready: bool
    reason: str


class Problem(BaseModel):
    detail: str


class Version(BaseModel):
    version: str
    cluster: str


def add_verbs(app: FastAPI, verbs: Verbs, max_body_bytes: int) -> None:
    """The verbs take and give bytes: models on this path would halve the throughput."""

    def add(path: str, answer: Callable[[bytes], Awaitable[Answer]]) -> None:
        async def endpoint(request: Request) -> Response:
            body = await _read(request, max_body_bytes)
            if body is None:
                return Response(f"the body is larger than {max_body_bytes} bytes\n", 413)
            answered = await answer(body)
            return Response(answered.body, answered.status, media_type="application/json")

        app.add_api_route(path, endpoint, methods=["POST"], include_in_schema=False)

    add("/filter", verbs.filter)
    add("/prioritize", verbs.prioritize)
    add("/preempt", verbs.preempt)
    if verbs.binder is not None:
        add("/bind", verbs.bind)


async def _read(request: Request, limit: int) -> bytes | None:
    """The body, or None as soon as it is known to be too large."""
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > limit:
        return None
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def add_probes(app: FastAPI, cluster: ClusterView, metrics: Metrics, cluster_name: str) -> None:
    metrics.build.labels(VERSION).set(1)

    @app.get("/healthz", summary="Is the process alive?")
    async def healthz() -> Health:
        return Health(status="ok")

    @app.get("/readyz", summary="Is the cluster state complete?", responses={503: {"model": Readiness}})
    async def readyz(response: Response) -> Readiness:
        if cluster.synced:
            return Readiness(ready=True, reason="the cluster state is complete")
        response.status_code = 503
        return Readiness(ready=False, reason="the first list of nodes, pods and namespaces is under way")

    @app.get("/version", summary="Which Tradewind is this, and which cluster does it serve?")
    async def show_version() -> Version:
        return Version(version=VERSION, cluster=cluster_name)

    @app.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
    async def show_metrics() -> Response:
        metrics.observe(cluster.cache.counts(), cluster.ages(), synced=cluster.synced)
        return Response(metrics.expose(), media_type=CONTENT_TYPE_LATEST)


def add_explain(app: FastAPI, decisions: Decisions, cluster: ClusterView) -> None:
    @app.get(
        "/explain/{namespace}/{pod}",
        summary="Why is this pod where it is?",
        responses={404: {"model": Problem}},
    )
    async def show_explanation(namespace: str, pod: str) -> Explanation:
        decision = decisions.find(namespace, pod)
        if decision is None:
            raise HTTPException(404, _NOT_ASKED.format(pod=f"{namespace}/{pod}"))
        known = cluster.cache.pods([decision.uid])
        return explain(f"{namespace}/{pod}", decision, known[0] if known else None)


def new_app() -> FastAPI:
    return FastAPI(
        title="Tradewind",
        version=VERSION,
        description="Price- and risk-aware placement for kube-scheduler. "
        "POST /filter and POST /prioritize speak the scheduler extender protocol.",
        redoc_url=None,
    )
