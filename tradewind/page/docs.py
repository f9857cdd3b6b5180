"""The endpoints of an application on one plain page: what FastAPI has for that is loaded from a CDN."""

from collections.abc import Mapping

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute

from tradewind.page.rendering import answer, render


def add_docs(app: FastAPI, posts: Mapping[str, object]) -> None:
    """`posts` are the addresses of verbs that are answered ahead of the routes."""

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        routes = [
            ("GET", each.path, each.summary or "")
            for each in app.routes
            if isinstance(each, APIRoute) and each.include_in_schema
        ]
        verbs = [("POST", path, "for kube-scheduler: the scheduler extender protocol") for path in posts]
        return answer(
            request, render("docs.html", title=app.title, version=app.version, routes=[*verbs, *routes])
        )
