"""The HTTP surface: two small applications, one for kube-scheduler and one for probes and people."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import FastAPI, HTTPException, Response
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from extender.uploads import READ_SECONDS, Uploads
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
    "says where it would go by the output of 'kubectl get nodes,pods,namespaces,pv,pvc,pdb -A -o json'"
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
        self.uploads = Uploads()
        add_docs(self, self.posts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        post = self.posts.get(scope["path"]) if scope.get("method") == "POST" else None
        await (post or super().__call__)(scope, receive, send)


def add_verbs(app: App, verbs: Verbs, max_body_bytes: int) -> None:
    app.uploads.allow(max_body_bytes)
    for verb in (verbs.filter, verbs.prioritize, verbs.preempt):
        app.posts[f"/{verb.name}"] = Endpoint(verb, max_body_bytes, app.uploads, verb.at_once)
    if verbs.bind is not None:
        app.posts["/bind"] = Endpoint(verbs.bind, max_body_bytes, app.uploads)


class _RefusedError(Exception):
    """A body that is not read to its end."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Endpoint:
    """Takes and gives bytes."""

    answer: Callable[[bytes], Awaitable[Answer]]
    max_body_bytes: int
    uploads: Uploads
    at_once: Callable[[bytes], Answer] | None = None  # the same without waiting, if it can be had

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._read(scope, receive)
        except ClientDisconnect:
            return
        except _RefusedError as refused:
            await Response(f"{refused}\n", refused.status)(scope, receive, send)
            return
        answered = await self.answer(body)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answered.body))]
        await send({"type": "http.response.start", "status": answered.status, "headers": headers})
        await send({"type": "http.response.body", "body": answered.body})

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        """Raise _RefusedError as soon as the body is known to be too large, too slow or from a web page."""
        headers = dict(scope["headers"])
        # Browsers send it with every POST, whatever name they know us by, and kube-scheduler with none.
        if b"origin" in headers:
            raise _RefusedError(403, "requests from web pages are refused")
        length: bytes = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.max_body_bytes:
            raise self._too_large()
        chunks: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(READ_SECONDS):
                while more:
                    chunk, more = await _chunk(receive)
                    if not self.uploads.take(len(chunk)):
                        raise _RefusedError(503, "too many unfinished requests; retry in a few seconds")
                    size += len(chunk)
                    chunks.append(chunk)
                    if size > self.max_body_bytes:
                        raise self._too_large()
        except TimeoutError as late:
            raise _RefusedError(408, f"the body was not complete after {READ_SECONDS:g} s") from late
        finally:
            self.uploads.release(size)
        return b"".join(chunks)

    def _too_large(self) -> _RefusedError:
        return _RefusedError(413, f"the body is larger than {self.max_body_bytes} bytes")


async def _chunk(receive: Receive) -> tuple[bytes, bool]:
    """The next bytes, and whether there are more."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return message.get("body", b""), message.get("more_body", False)


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
