"""What was measured survives the file, and the page and the charts are made of it."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from bench import svg
from bench.burst import Burst, Bursts
from bench.document import Document
from bench.goals import Spread
from bench.measurement import Case, Measurement
from bench.profile import Profile
from bench.scale import Run, Scale
from bench.tail import Distribution, Tail
from bench.tail import Run as TailRun
from bench.throughput import Result

MACHINE = {"cores": 2, "processor": "P", "memory_gib": 8, "kubernetes": "v1", "python": "3"}
PAGE = """\
before
<!-- machine: written by `python -m bench --write-docs` -->
<!-- end -->
<!-- goals: written by `python -m bench --write-docs` -->
old
<!-- end -->
between
<!-- charts: written by `python -m bench --write-docs` -->
<!-- end -->
<!-- throughput: written by `python -m bench --write-docs` -->
<!-- end -->
<!-- burst: written by `python -m bench --write-docs` -->
<!-- end -->
<!-- profile: written by `python -m bench --write-docs` -->
<!-- end -->
after
"""


def measurement(contender: str, run: int, seconds: float) -> Measurement:
    return Measurement(
        contender=contender,
        run=run,
        pods=101,
        seconds=seconds,
        scheduler_cpu_seconds=1.0,
        extender_cpu_seconds=None,
        own_cpu_seconds=1.0,
        others_cpu_seconds=0.0,
        service={},
    )


def throughput() -> list[Result]:
    # The runs come in any order: 100 and 50 pods/s against 200 and 100, a half each time.
    measurements = [
        measurement("tradewind", 1, 2.0),
        measurement("echo", 0, 0.5),
        measurement("echo", 1, 1.0),
        measurement("tradewind", 0, 1.0),
    ]
    case = Case(nodes=500, percentage=100, pods=101)
    return [Result(case=case, candidates=500, measurements=measurements, disturbed=[])]


def burst(way: str, seconds: float, cpu: float) -> Burst:
    return Burst(
        way=way,
        run=0,
        pods=100,
        seconds=seconds,
        creation_seconds=0.5,
        cpu_seconds={"kube-scheduler": cpu, "all": 9.0},
        as_planned=0,
        others_cpu_seconds=0.0,
    )


def whole() -> Document:
    even = Distribution(ms=[1.0 + place / 10 for place in range(101)])
    verbs = {"filter": even, "prioritize": even}
    return Document(
        machine=MACHINE,
        throughput=throughput(),
        burst=Bursts(
            nodes=5,
            bursts=[burst("plain", 2.0, 4.0), burst("plain 100 %", 8.0, 9.0), burst("planned", 1.0, 1.0)],
        ),
        profile=Profile(
            nodes=5, requests=9, steps={"filter": {"a": 50.0, "b": 49.5, "c": 0.5}, "prioritize": {"a": 20.0}}
        ),
        scale=Scale(small=10, large=20, runs=[Run(small_ms=1.0, large_ms=1.5, others_cores=0.0)]),
        tail=Tail(
            nodes=5,
            runs=[TailRun(alone={0: verbs}, busy={0: verbs}, plans=1, events=2, others_cores=0.0)],
        ),
    )


def test_parts_of_several_files_are_read_as_one(tmp_path: Path) -> None:
    all_parts = whole()
    Document(machine=MACHINE, throughput=all_parts.throughput).write(tmp_path / "a.json")
    Document(machine=MACHINE, burst=all_parts.burst, scale=all_parts.scale, tail=all_parts.tail).write(
        tmp_path / "b.json"
    )
    assert Document.read([tmp_path / "a.json", tmp_path / "b.json"]).outcomes() == all_parts.outcomes()


def test_every_part_has_its_goals() -> None:
    assert [(round(max(outcome.ratios), 3), outcome.met) for outcome in whole().outcomes()] == [
        (0.5, False),  # tradewind / echo, which should be 0.85
        (2.0, True),  # planned 100 pods/s / plain 50
        (0.25, True),  # of kube-scheduler's processor time
        (8.0, True),  # / plain 100 % 12.5
        (1.5, True),  # at most 2
        (1.817, True),  # 10.9 / 6, of filter
        (1.817, True),  # and of prioritize
    ]


def test_a_bursts_processes_are_charged_by_the_pod() -> None:
    parts = whole()
    assert parts.burst
    plain = parts.burst.table().splitlines()[2]
    # 100 pods in 2 s; 4 s of the scheduler's time are 40 ms for each pod.
    assert [cell.strip() for cell in plain.strip("|").split("|")] == [
        *("plain", "50 (50..50)", "0.5 s", "40.0"),
        *("", "", "", "", "90.0", "0.00"),
    ]


def test_a_profile_sums_up_what_is_small() -> None:
    parts = whole()
    assert parts.profile
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in parts.profile.table().splitlines()
    ]
    assert lines[2:] == [
        ["a", "50", "20"],
        ["b", "50", ""],
        ["less than a fiftieth each", "0", "0"],  # half a microsecond
        ["all", "100", "20"],
    ]


def test_the_page_keeps_what_people_wrote(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    whole().write_docs(page)
    text = page.read_text()
    assert "old" not in text
    assert [line for line in text.splitlines() if line in {"before", "between", "after"}] == [
        "before",
        "between",
        "after",
    ]
    assert "| missed |" in text
    assert "](img/latency.svg)" in text
    whole().write_docs(page)
    assert page.read_text() == text
    assert {path.name for path in (tmp_path / "img").iterdir()} == {
        "pods-per-second.svg",
        "burst.svg",
        "latency.svg",
    }


def test_a_page_without_a_place_for_the_figures_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("<!-- goals:", "<!-- other:"))
    with pytest.raises(ValueError, match="no place for goals"):
        whole().write_docs(page)


def test_bars_have_the_height_of_their_values() -> None:
    groups = {
        "a & b": {"x": Spread(median=10.0, low=5.0, high=20.0), "y": Spread(median=20, low=20, high=20)}
    }
    root = ET.fromstring(svg.bars("title <1>", "pods/s", groups))  # noqa: S314  our own
    heights = [float(rect.get("height", "0")) for rect in root if rect.tag.endswith("rect")]
    # The background and two marks of the legend, then the bars.
    assert heights[-1] == pytest.approx(2 * heights[-2])
    assert "a & b" in [text.text for text in root]


def test_curves_go_from_none_to_all_over_a_logarithmic_axis() -> None:
    root = ET.fromstring(svg.curves("t", "ms", {"x": [1.0, 10.0, 100.0]}))  # noqa: S314  our own
    (line,) = [each for each in root if each.tag.endswith("polyline")]
    points = [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2) != 0
