"""Everything that was measured, as one file; and the tables and charts that come of it.

A file may hold some parts only. Several are read as one, of each part the last.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench import goals, report, svg
from bench.burst import Bursts
from bench.goals import Outcome, Spread
from bench.profile import Profile
from bench.scale import Scale
from bench.service import VERBS
from bench.sync import Sync
from bench.tail import EVENTS_A_SECOND, Tail
from bench.throughput import Result

_PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
_BLOCK = "<!-- {name}: written by `python -m bench --write-docs` -->"
_END = "<!-- end -->"


@dataclass(frozen=True, kw_only=True)
class Document:
    machine: Mapping[str, Any]
    throughput: Sequence[Result] | None = None
    burst: Bursts | None = None
    scale: Scale | None = None
    tail: Tail | None = None
    sync: Sync | None = None
    profile: Profile | None = None

    @classmethod
    def read(cls, paths: Sequence[Path]) -> "Document":
        whole: dict[str, Any] = {}
        for path in paths:
            part = msgspec.json.decode(path.read_bytes())
            whole |= {field.name: part[field.name] for field in fields(cls) if part.get(field.name)}
        return msgspec.convert(whole, cls, str_keys=True)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        whole = {"goals": [_goal(outcome) for outcome in self.outcomes()]} | told
        path.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n")

    def outcomes(self) -> list[Outcome]:
        parts = (part.outcomes() for part in (self.burst, self.scale, self.tail, self.sync) if part)
        return [*report.outcomes(self.throughput or ()), *(outcome for part in parts for outcome in part)]

    def figures(self) -> list[report.Figures]:
        return [row for result in self.throughput or () for row in report.figures(result)]

    def charts(self) -> Iterator[tuple[str, str, str]]:
        """File names, titles, and what goes into the files."""
        if self.throughput:
            title = "Pods a second by nodes"
            yield "pods-per-second.svg", title, svg.bars(title, "pods/s", _speeds(self.figures()))
        if self.burst:
            title = f"Pods a second in a burst of {self.burst.bursts[0].pods:,}"
            speeds = {f"{self.burst.nodes:,} nodes": self.burst.speeds()}
            yield "burst.svg", title, svg.bars(title, "pods/s", speeds)
        if self.tail:
            load = f"with {EVENTS_A_SECOND} changes/s and a planner at work"
            title = f"Time of an answer, {self.tail.nodes:,} nodes: alone, and {load}"
            yield "latency.svg", title, svg.curves(title, "milliseconds", _latencies(self.tail))

    def draw(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for name, _, chart in self.charts():
            (directory / name).write_text(chart)

    def write_docs(self, page: Path = _PAGE) -> None:
        """Replaces the blocks of the page that are made of measurements, and the charts beside it."""
        text = page.read_text()
        images = (f"![{title}](img/{name})" for name, title, _ in self.charts())
        blocks = {
            "machine": _machine(self.machine),
            "goals": goals.table(self.outcomes()),
            "charts": "\n\n".join(images),
        }
        if self.throughput:
            blocks["throughput"] = report.table(self.figures())
        if self.burst:
            blocks["burst"] = self.burst.table()
        if self.profile:
            blocks["profile"] = self.profile.table()
        for name, block in blocks.items():
            text = _replaced(text, name, block)
        page.write_text(text)
        self.draw(page.parent / "img")


def _goal(outcome: Outcome) -> dict[str, Any]:
    spread = Spread.of(outcome.ratios)
    return {"what": outcome.goal.what, "goal": outcome.goal.shown, "met": outcome.met, "measured": spread}


def _speeds(rows: Sequence[report.Figures]) -> dict[str, dict[str, Spread]]:
    groups: dict[str, dict[str, Spread]] = {}
    for row in rows:
        sampling = f"{row.case.percentage} %" if row.case.percentage else "sampled"
        groups.setdefault(f"{row.case.nodes:,}, {sampling}", {})[row.contender] = row.pods_a_second
    return groups


def _latencies(tail: Tail) -> dict[str, list[float]]:
    """By percentile the median over the runs, of the requests with the most nodes."""
    percentage = max(tail.runs[0].busy)
    kinds = {"alone": [run.alone for run in tail.runs], "busy": [run.busy for run in tail.runs]}
    return {
        f"{verb}, {kind}": [
            median(each) for each in zip(*(run[percentage][verb].ms for run in runs), strict=True)
        ]
        for verb in VERBS
        for kind, runs in kinds.items()
    }


def _machine(facts: Mapping[str, Any]) -> str:
    where = f"{facts['cores']} cores ({facts['processor']}), {facts['memory_gib']} GiB"
    versions = f"Kubernetes {facts['kubernetes']}, Python {facts['python']}"
    return f"Measured on {where}, everything on one machine; {versions}."


def _replaced(text: str, name: str, block: str) -> str:
    start = _BLOCK.format(name=name)
    head, found, rest = text.partition(start)
    _, closed, tail = rest.partition(_END)
    if not found or not closed:
        raise ValueError(f"the page has no place for {name}: {start} ... {_END}")
    return f"{head}{start}\n\n{block}\n\n{_END}{tail}"
