"""The routes of the page, for an application behind the guard of explain."""

import msgspec
from fastapi import FastAPI, Request, Response
from starlette.middleware.gzip import GZipMiddleware

from tradewind.page.decided import Decided
from tradewind.page.pages import DECISIONS_SECONDS, LIST_SECONDS, MAP_SECONDS, Page
from tradewind.page.rendering import HEADERS, STATIC, answer
from tradewind.page.renders import Renders
from tradewind.page.replicas import STREAM_PATH
from tradewind.page.stream import KINDS
from tradewind.page.supposed import FIELDS
from tradewind.runtime.assembly import Assembly
from tradewind.savings import html
from tradewind.shadow.keeper import ShadowKeeper

SAVINGS_FILE = "/savings.html"
_SMALL = 1000  # bytes that are not worth packing


def add_page(app: FastAPI, parts: Assembly, decided: Decided, shadow: ShadowKeeper | None = None) -> None:
    """Everything that takes long runs in a thread, so that the port goes on answering."""
    page = Page(parts, decided, shadow)
    app.add_middleware(GZipMiddleware, minimum_size=_SMALL)
    _add_cluster(app, page)
    _add_decisions(app, page, decided)
    _add_money(app, page)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in STATIC:
            return Response("there is no such file\n", 404, HEADERS, media_type="text/plain")
        kind, text = STATIC[name]
        return Response(text, 200, HEADERS, media_type=kind)


def _add_cluster(app: FastAPI, page: Page) -> None:
    renders = Renders()

    @app.get("/", include_in_schema=False)
    async def nodes(request: Request, by: str = "zone", only: str = "") -> Response:
        return answer(request, await renders.ask(MAP_SECONDS, page.nodes, by, only))

    @app.get("/pending", include_in_schema=False)
    async def waiting(request: Request) -> Response:
        return answer(request, await renders.ask(LIST_SECONDS, page.pending))

    @app.get("/plan", include_in_schema=False)
    async def planned(request: Request) -> Response:
        return answer(request, await renders.ask(LIST_SECONDS, page.plan))


def _add_decisions(app: FastAPI, page: Page, decided: Decided) -> None:
    renders = Renders()  # apart: those of other replicas may be long in coming

    @app.get("/decisions", include_in_schema=False)
    async def shown(request: Request, show: str = "all", namespace: str = "") -> Response:
        return answer(request, await renders.ask(DECISIONS_SECONDS, page.stream, show, namespace))

    def encoded(kind: str, namespace: str) -> bytes:
        return msgspec.json.encode(decided.stream(kind=kind, namespace=namespace))

    @app.get(STREAM_PATH, summary="The newest decisions, for a page that shows those of all replicas")
    async def listed(show: str = "all", namespace: str = "") -> Response:
        kind = show if show in KINDS else "all"
        found = await renders.ask(DECISIONS_SECONDS, encoded, kind, namespace)
        return Response(found, 200, HEADERS, media_type="application/json")

    @app.get("/pods/{namespace}/{name}", include_in_schema=False)
    async def pod(request: Request, namespace: str, name: str) -> Response:
        return answer(request, *await renders.ask(DECISIONS_SECONDS, page.pod, namespace, name))


def _add_money(app: FastAPI, page: Page) -> None:
    @app.get("/savings", include_in_schema=False)
    async def savings(request: Request) -> Response:
        return answer(request, *await page.savings())

    @app.get("/what-if", include_in_schema=False)
    async def what_if(request: Request) -> Response:
        written = {kind: request.query_params.get(kind, "") for kind in FIELDS}
        return answer(request, *await page.what_if(written))

    @app.get(SAVINGS_FILE, include_in_schema=False)
    async def savings_file() -> Response:
        headers = {**HEADERS, "Content-Security-Policy": html.POLICY}
        shown, status = await page.savings_file()
        return Response(shown, status, headers, media_type="text/html; charset=utf-8")
