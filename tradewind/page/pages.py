"""What each address of the page shows."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from tradewind.errors import TradewindError
from tradewind.explain.evaluation import evaluate_in
from tradewind.explain.explanation import Explanation
from tradewind.explain.new_nodes import with_pool
from tradewind.explain.origins import with_origins
from tradewind.page.batches import batches_view
from tradewind.page.calculations import Answer, Calculations
from tradewind.page.decided import Decided
from tradewind.page.map import GROUPINGS, node_map
from tradewind.page.pending import MOST_SHOWN, pending
from tradewind.page.planned import planner_view
from tradewind.page.rendering import render
from tradewind.page.shadowed import ShadowView, shadow_view
from tradewind.page.stream import KINDS, MOST
from tradewind.page.supposed import WhatIf
from tradewind.runtime.assembly import Assembly
from tradewind.savings.bill import Bill
from tradewind.savings.worker import Rendered
from tradewind.shadow.keeper import ShadowKeeper
from tradewind.version import VERSION

# What may be asked of what-if, with how it is written.
QUESTIONS = (
    ("without", "Without a node or pool", "spot-a1"),
    ("lost-zone", "Without a zone", "eu-1a"),
    ("price", "Price", "m5.large spot x2"),
    ("rate", "Interruption rate", "m5.* spot 0.2"),
    ("scale", "Replicas", "shop/web=30"),
)
PRESETS = ("cost", "balanced", "availability")
# How often an open page asks for itself again, and how long it is kept for all who ask.
MAP_SECONDS = 10
LIST_SECONDS = 5
DECISIONS_SECONDS = 3
PATIENCE_SECONDS = 2.0  # after which the page shows the bill alone, and comes back for the rest
_MOST_LISTED = 300  # nodes that are in a table too


class _Running:
    """A forecast that somebody waits for."""

    def __init__(self, task: "asyncio.Task[Answer[Rendered]]") -> None:
        self.task = task
        self.since = time.monotonic()


class Page:
    """What each address shows."""

    def __init__(self, parts: Assembly, decided: Decided, shadow: ShadowKeeper | None = None) -> None:
        self._parts = parts
        self._decided = decided
        self._shadow = shadow
        self._calculations = Calculations(parts)
        self._what_if = WhatIf(parts, self._calculations)
        self._running: _Running | None = None

    def nodes(self, by: str, only: str) -> str:
        by = by if by in GROUPINGS else "zone"
        snapshot, pods = self._parts.cache.state()
        bill = Bill(snapshot, self._parts.market.origins)
        found = node_map(snapshot, bill, planner_view(pods).coming, by=by, only=only)
        return self._render(
            "map.html",
            seconds=MAP_SECONDS,
            map=found,
            by=by,
            only=only,
            groupings=[*GROUPINGS],
            most=_MOST_LISTED,
        )

    def stream(self, kind: str, namespace: str) -> str:
        kind = kind if kind in KINDS else "all"
        found = self._decided.stream(kind=kind, namespace=namespace)
        kinds = {name: words for name, (words, _) in KINDS.items()}
        return self._render(
            "decisions.html",
            seconds=DECISIONS_SECONDS,
            stream=found,
            kind=kind,
            namespace=namespace,
            kinds=kinds,
            most=MOST,
        )

    def pod(self, namespace: str, name: str) -> tuple[str, int]:
        named = f"{namespace}/{name}"
        told = self._explained(namespace, name)
        if told is None:
            return self._render("unknown.html", seconds=0, named=named), 404
        return self._render("pod.html", seconds=0, named=named, told=told), 200

    def pending(self) -> str:
        parts = self._parts
        snapshot, pods = parts.cache.state()
        schedulers = frozenset(parts.settings.planner.schedulers)
        found = pending(snapshot, pods, parts.settings.policy_of, schedulers, parts.pools())
        return self._render("pending.html", seconds=LIST_SECONDS, waiting=found, most=MOST_SHOWN)

    def plan(self) -> str:
        parts = self._parts
        snapshot, pods = parts.cache.state()
        batches = batches_view(parts.journal, guided=snapshot.nodes.cluster.guide is not None)
        return self._render(
            "plan.html",
            seconds=LIST_SECONDS,
            view=planner_view(pods),
            batches=batches,
            namespace=parts.namespace,
            most=MOST_SHOWN,
        )

    async def savings(self) -> tuple[str, int]:
        shadow = shadow_view(self._shadow.account if self._shadow else None)
        if self._running is None or self._running.task.done():
            self._running = _Running(asyncio.create_task(self._forecast()))
        found = self._running
        await asyncio.wait({found.task}, timeout=PATIENCE_SECONDS)
        if not found.task.done():
            return self._soon(found), 200
        try:
            made, told = await found.task
        except TradewindError as error:
            return self._no_savings(error, shadow), 503
        content = Markup(told.content)  # noqa: S704  escaped there
        shown = self._render(
            "savings.html",
            seconds=0,
            made=made,
            content=content,
            trouble=told.trouble,
            refused="",
            shadow=shadow,
        )
        return shown, 200

    def _soon(self, running: "_Running") -> str:
        snapshot, pods = self._parts.cache.state()
        return self._render(
            "savings_soon.html",
            at="savings",
            seconds=0,
            bill=Bill(snapshot, self._parts.market.origins).total,
            pods=len(pods),
            running=round(time.monotonic() - running.since),
        )

    async def savings_file(self) -> tuple[str, int]:
        try:
            return (await self._forecast()).found.page, 200
        except TradewindError as error:
            return self._no_savings(error), 503

    def _no_savings(self, error: TradewindError, shadow: ShadowView | None = None) -> str:
        return self._render("savings.html", seconds=0, trouble="", refused=str(error), shadow=shadow)

    async def _forecast(self) -> Answer[Rendered]:
        return await self._calculations.ask("savings", lambda worker: worker.forecast(self._parts))

    async def what_if(self, written: Mapping[str, str]) -> tuple[str, int]:
        asked = await self._what_if.ask(written)
        shown = self._render(
            "what_if.html", seconds=0, asked=asked, written=written, questions=QUESTIONS, presets=PRESETS
        )
        return shown, 503 if asked.busy else 400 if asked.refused else 200

    def _explained(self, namespace: str, name: str) -> Explanation | None:
        """What was decided; of a pod that nobody asked about, what would be."""
        parts, told = self._parts, self._decided.explained(namespace, name)
        if told is None:
            snapshot, pods = parts.cache.state()
            pod = next((each for each in pods if (each.namespace, each.name) == (namespace, name)), None)
            if pod is None:
                return None
            told = with_origins(evaluate_in(snapshot, pod, parts.settings.policy_of), parts.market.origins)
            told = with_pool(told, snapshot, pod, parts.settings.policy_of, parts.pools())
        return told

    def _render(self, template: str, *, seconds: int, at: str = "", **shown: Any) -> str:
        parts = self._parts
        return render(
            template,
            at=at or template.removesuffix(".html"),
            seconds=0 if parts.from_file and template != "decisions.html" else seconds,
            cluster=parts.name,
            from_file=parts.from_file,
            replicas=self._decided.replicas,
            troubles=self._decided.troubles,
            version=VERSION,
            synced=parts.synced,
            stale=parts.stale,
            coverage=parts.market.price_coverage(),
            shadowing=self._shadow is not None and self._shadow.shadowing,
            path=lambda *names: "/".join(quote(each, safe="") for each in names),
            **shown,
        )
