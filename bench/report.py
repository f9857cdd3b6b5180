"""What the contenders' pods a second say: medians, spreads and ratios, and the goals among them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench import goals
from bench.contenders import ECHO, GO, PLAIN, TRADEWIND
from bench.goals import Goal, Outcome, Spread
from bench.measurement import Case, Measurement
from bench.service import VERBS
from bench.throughput import Result

_PEERS = (PLAIN.name, ECHO.name, GO.name)
_HEADINGS = (
    "nodes",
    "sampling",
    "contender",
    "pods/s (min..max)",
    *(f"of {peer}" for peer in _PEERS),
    "scheduler",
    "extender",
    *VERBS,
    "others",
)
_WORDS = {0, 1, 2}  # these columns are aligned left, the figures after them right
_NOISY_CORES = 0.2
LEGEND = """\
of plain, echo, go    pods/s divided by that contender's in the same run, median over the runs
scheduler, extender   CPU milliseconds a pod
filter, prioritize    milliseconds inside the extender, p50 / p99
others                cores that other work on this machine took meanwhile: the noise in the figures"""
# Of Tradewind's pods a second to a peer's.
_GOALS = {ECHO.name: 0.85, GO.name: 1.0}


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
    by_contender = _by_contender(result)
    return [_figures(result.case, name, by_contender) for name in by_contender]


def outcomes(results: Sequence[Result]) -> list[Outcome]:
    return [outcome for peer in _GOALS for result in results for outcome in _outcome(result, peer)]


def _outcome(result: Result, peer: str) -> Iterator[Outcome]:
    by_contender = _by_contender(result)
    if not by_contender.keys() >= {TRADEWIND.name, peer}:
        return
    ours, theirs = by_contender[TRADEWIND.name], by_contender[peer]
    speeds = (median(run.pods_a_second for run in runs) for runs in (ours, theirs))
    seen = f"{result.candidates:,} of {result.case.nodes:,} nodes"
    what = f"pods/s with Tradewind / with the {peer} extender, {seen}"
    yield Outcome(
        goal=Goal(what=what, limit=_GOALS[peer], at_least=True),
        ratios=_ratios(ours, theirs),
        figures="{:.0f} / {:.0f} pods/s".format(*speeds),
    )


def _by_contender(result: Result) -> dict[str, list[Measurement]]:
    by_contender: dict[str, list[Measurement]] = {}
    for measured in sorted(result.measurements, key=lambda each: each.run):
        by_contender.setdefault(measured.contender, []).append(measured)
    return by_contender


def _ratios(runs: Sequence[Measurement], bases: Sequence[Measurement]) -> list[float]:
    return [run.pods_a_second / base.pods_a_second for run, base in zip(runs, bases, strict=True)]


def _figures(case: Case, name: str, by_contender: Mapping[str, Sequence[Measurement]]) -> Figures:
    runs = by_contender[name]
    extender_ms = [1e3 * run.extender_cpu_seconds / run.pods for run in runs if run.extender_cpu_seconds]
    return Figures(
        case=case,
        contender=name,
        pods_a_second=Spread.of([run.pods_a_second for run in runs]),
        ratios={
            other: Spread.of(_ratios(runs, bases)) for other, bases in by_contender.items() if other != name
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
    return goals.markdown([_HEADINGS, *(tuple(_cells(row)) for row in rows)], _WORDS)


def _cells(row: Figures) -> Iterator[str]:
    yield f"{row.case.nodes:,}"
    yield f"{row.case.percentage} %" if row.case.percentage else "default"
    yield row.contender
    speed = row.pods_a_second
    yield f"{speed.median:.0f} ({speed.low:.0f}..{speed.high:.0f})"
    for other in _PEERS:
        shown = other in row.ratios and row.contender != PLAIN.name
        yield f"{row.ratios[other].median:.2f}" if shown else ""
    yield f"{row.scheduler_cpu_ms_a_pod:.1f}"
    yield "" if row.extender_cpu_ms_a_pod is None else f"{row.extender_cpu_ms_a_pod:.1f}"
    for verb in VERBS:
        yield "{:.1f} / {:.1f}".format(*row.service_ms[verb]) if verb in row.service_ms else ""
    yield f"{row.others_cores:.2f}"


def warning(rows: Sequence[Figures]) -> str:
    """Empty if the machine was left alone."""
    most = max(row.others_cores for row in rows)
    if most < _NOISY_CORES:
        return ""
    return f"Other work took up to {most:.1f} cores meanwhile: trust the ratios, not the pods/s."
