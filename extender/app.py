"""The HTTP surface: two small applications, one for kube-scheduler and one for probes and people."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import FastAPI, HTTPException, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from extender.verb import Answer
from extender.verbs import Verbs
from tradewind.cluster.cache import Cache
from tradewind.explain.decisions import Decisions
from tradewind.explain.explanation import Explanation, explain
from tradewind.explain.origins import with_origins
from tradewind.explain.standing import is_static, standing
from tradewind.market.quotes import Origins
from tradewind.page.docs import add_docs
from tradewind.version import VERSION

_NOT_ASKED = (
    "kube-scheduler did not ask this Tradewind about pod {pod}, or so long ago that it is forgotten; "
    "where there are several replicas, another one may know, and 'tradewind explain {pod} --cluster FILE' "
    "says where it would go by the output of 'kubectl get nodes,pods,namespaces -A -o json'"
)


class ErrorBody(BaseModel):
    detail: str


class App(FastAPI):
    """FastAPI, with the verbs ahead of its routes: its part of a request takes longer than an answer."""

    def __init__(self) -> None:
        super().__init__(
            title="Tradewind",
            version=VERSION,
            description="Price- and risk-aware placement for kube-scheduler. "
            "POST /filter and POST /prioritize speak the scheduler extender protocol.",
            docs_url=None,  # would load from a CDN
            redoc_url=None,
        )
        self.posts: dict[str, Endpoint] = {}
        add_docs(self, self.posts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        post = self.posts.get(scope["path"]) if scope.get("method") == "POST" else None
        await (post or super().__call__)(scope, receive, send)


def add_verbs(app: App, verbs: Verbs, max_body_bytes: int) -> None:
    for verb in (verbs.filter, verbs.prioritize, verbs.preempt):
        app.posts[f"/{verb.name}"] = Endpoint(verb, max_body_bytes, verb.at_once)
    if verbs.bind is not None:
        app.posts["/bind"] = Endpoint(verbs.bind, max_body_bytes)


@dataclass(frozen=True)
class Endpoint:
    """Takes and gives bytes."""

    answer: Callable[[bytes], Awaitable[Answer]]
    max_body_bytes: int
    at_once: Callable[[bytes], Answer] | None = None  # the same without waiting, if it can be had

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _read(scope, receive, self.max_body_bytes)
        except ClientDisconnect:
            return
        if body is None:
            refusal = Response(f"the body is larger than {self.max_body_bytes} bytes\n", 413)
            await refusal(scope, receive, send)
            return
        answered = await self.answer(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answered.body))]
        await send({"type": "http.response.start", "status": answered.status, "headers": headers})
        await send({"type": "http.response.body", "body": answered.body})


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """The body, or None as soon as it is known to be too large."""
    length: bytes = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length) > limit:
        return None
    chunks: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            return None
        more = message.get("more_body", False)
    return b"".join(chunks)


def add_explain(
    app: FastAPI,
    decisions: Decisions,
    cache: Cache,
    origins_of: Callable[[str], Origins] | None = None,
) -> None:
    """`origins_of` says where the price and the rate of a node come from."""

    @app.get(
        "/explain/{namespace}/{pod}",
        summary="Why is this pod where it is?",
        responses={404: {"model": ErrorBody}},
    )
    async def show_explanation(namespace: str, pod: str) -> Explanation:
        decision = decisions.find(namespace, pod)
        if decision is None:
            raise HTTPException(404, _not_asked(cache, f"{namespace}/{pod}"))
        known = cache.pods([decision.uid])
        told = explain(f"{namespace}/{pod}", decision, known[0] if known else None)
        return with_origins(told, origins_of) if origins_of else told


def _not_asked(cache: Cache, named: str) -> str:
    """With what the pod is, where that is why nobody asked."""
    found = next((pod for pod in cache.all_pods() if str(pod) == named), None)
    told = [*standing(found)] if found else []
    if found and is_static(found):
        return " ".join(told)
    return " ".join([*told, _NOT_ASKED.format(pod=named)])
