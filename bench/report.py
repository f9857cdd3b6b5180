"""What the measurements say: medians, spreads and ratios, as a table and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.measurement import Case, Measurement
from bench.service import VERBS
from bench.throughput import Result

_HEADINGS = (
    "nodes",
    "sampling",
    "contender",
    "pods/s (min..max)",
    "of plain",
    "of echo",
    "scheduler",
    "extender",
    *VERBS,
    "others",
)
_WORDS = 3  # the first columns are aligned left, the figures after them right
_NOISY_CORES = 0.2
LEGEND = """\
of plain, of echo     pods/s divided by that contender's in the same run, median over the runs
scheduler, extender   CPU milliseconds a pod
filter, prioritize    milliseconds inside the extender, p50 / p99
others                cores that other work on this machine took meanwhile: the noise in the figures"""


@dataclass(frozen=True, kw_only=True)
class Spread:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median=median(values), low=min(values), high=max(values))


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One contender in one case. A ratio is taken within each run, where both met the same machine."""

    case: Case
    contender: str
    pods_a_second: Spread
    ratios: Mapping[str, Spread]  # pods a second by those of the other contender
    scheduler_cpu_ms_a_pod: float
    extender_cpu_ms_a_pod: float | None
    service_ms: Mapping[str, tuple[float, float]]  # by verb: median and 99th percentile inside the extender
    others_cores: float  # that processes took which are not part of the measurement


def figures(result: Result) -> list[Figures]:
    by_contender: dict[str, list[Measurement]] = {}
    for measured in result.measurements:
        by_contender.setdefault(measured.contender, []).append(measured)
    return [_figures(result.case, name, by_contender) for name in by_contender]


def _figures(case: Case, name: str, by_contender: Mapping[str, Sequence[Measurement]]) -> Figures:
    runs = by_contender[name]
    extender_ms = [1e3 * run.extender_cpu_seconds / run.pods for run in runs if run.extender_cpu_seconds]
    return Figures(
        case=case,
        contender=name,
        pods_a_second=Spread.of([run.pods_a_second for run in runs]),
        ratios={
            other: Spread.of(
                [run.pods_a_second / base.pods_a_second for run, base in zip(runs, bases, strict=True)]
            )
            for other, bases in by_contender.items()
            if other != name
        },
        scheduler_cpu_ms_a_pod=median(1e3 * run.scheduler_cpu_seconds / run.pods for run in runs),
        extender_cpu_ms_a_pod=median(extender_ms) if extender_ms else None,
        service_ms=dict(_service(runs)),
        others_cores=median(run.others_cores for run in runs),
    )


def _service(runs: Sequence[Measurement]) -> Iterator[tuple[str, tuple[float, float]]]:
    for verb in VERBS:
        timed = [run.service[verb] for run in runs if verb in run.service]
        halves = [entry.p50_ms for entry in timed if entry.p50_ms is not None]
        tails = [entry.p99_ms for entry in timed if entry.p99_ms is not None]
        if halves and tails:
            yield verb, (median(halves), median(tails))


def table(rows: Sequence[Figures]) -> str:
    """Markdown that is aligned as text, so that it can be read here and kept in a document."""
    cells = [_HEADINGS, *(tuple(_cells(row)) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADINGS))]
    rule = [
        "-" * width if column < _WORDS else "-" * (width - 1) + ":" for column, width in enumerate(widths)
    ]
    return "\n".join(_line(line, widths) for line in [cells[0], rule, *cells[1:]])


def _cells(row: Figures) -> Iterator[str]:
    yield f"{row.case.nodes:,}"
    yield f"{row.case.percentage} %" if row.case.percentage else "default"
    yield row.contender
    speed = row.pods_a_second
    yield f"{speed.median:.0f} ({speed.low:.0f}..{speed.high:.0f})"
    for other in ("plain", "echo"):
        shown = other in row.ratios and row.contender != "plain"
        yield f"{row.ratios[other].median:.2f}" if shown else ""
    yield f"{row.scheduler_cpu_ms_a_pod:.1f}"
    yield "" if row.extender_cpu_ms_a_pod is None else f"{row.extender_cpu_ms_a_pod:.1f}"
    for verb in VERBS:
        yield "{:.1f} / {:.1f}".format(*row.service_ms[verb]) if verb in row.service_ms else ""
    yield f"{row.others_cores:.2f}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    words = [cell.ljust(width) for cell, width in zip(cells[:_WORDS], widths[:_WORDS], strict=True)]
    numbers = [cell.rjust(width) for cell, width in zip(cells[_WORDS:], widths[_WORDS:], strict=True)]
    return f"| {' | '.join(words + numbers)} |"


def conclusion(rows: Sequence[Figures]) -> str:
    """The last case is the hardest one."""
    last = rows[-1].case
    hardest = sorted(
        (row for row in rows if row.case == last), key=lambda row: row.pods_a_second.median, reverse=True
    )
    sampling = f"{last.percentage} % sampling" if last.percentage else "default sampling"
    speeds = ", ".join(f"{row.contender} {row.pods_a_second.median:.0f}" for row in hardest)
    return f"At {last.nodes:,} nodes and {sampling}, pods a second: {speeds}."


def warning(rows: Sequence[Figures]) -> str:
    """Empty if the machine was left alone."""
    most = max(row.others_cores for row in rows)
    if most < _NOISY_CORES:
        return ""
    return f"Other work took up to {most:.1f} cores meanwhile: trust the ratios, not the pods/s."


def write(path: Path, machine: Mapping[str, Any], results: Sequence[Result], rows: Sequence[Figures]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine, "figures": rows, "results": results}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
