"""The page: nothing in it is executed or fetched, and every node is where and as large as it should be."""

import base64
import hashlib
import http.client
import json
import re
import xml.etree.ElementTree as ET  # our own page
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.cli.test_serve import serving
from tradewind.cli.main import main
from tradewind.runtime.source import EXAMPLES
from tradewind.savings.maps import short_names
from tradewind.savings.treemap import treemap

_HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;"


def shown(
    directory: Path,
    objects: Sequence[NodeBuilder | PodBuilder],
    capsys: pytest.CaptureFixture[str],
    *more: str,
) -> str:
    path = directory / "cluster.json"
    items = [json.loads(each.json()) for each in objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    main(["savings", "--cluster", str(path), "-o", "html", "--partial", *more])
    return capsys.readouterr().out


def tree(page: str) -> ET.Element:
    """As strict as XML, but for the tags that HTML does not close."""
    return ET.fromstring(re.sub(r"<!doctype html>|<meta [^>]*>", "", page))  # noqa: S314  our own page


def web(name: str, on: str) -> PodBuilder:
    return pod(name).label("app", "web").owner("ReplicaSet", "web", "web").requests(cpu="1").on(on)


def test_hostile_names_stay_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects: list[NodeBuilder | PodBuilder] = [
        node(_HOSTILE).price(3).label("topology.kubernetes.io/zone", _HOSTILE),
        node("cheap").price(1),
        web(_HOSTILE, _HOSTILE).annotation("karpenter.sh/do-not-disrupt", _HOSTILE),
        web("b", "cheap"),
        pod("bare" + _HOSTILE).on("cheap"),
    ]
    page = shown(tmp_path, objects, capsys)
    kinds = {element.tag for element in tree(page).iter()}
    assert kinds.isdisjoint({"script", "img", "iframe", "link", "a", "object", "form"})
    for element in tree(page).iter():
        assert not [
            name for name in element.attrib if name.startswith("on") or name in {"style", "href", "src"}
        ]
    assert _HOSTILE in "".join(tree(page).itertext())


def test_the_policy_lets_in_its_own_style_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = shown(tmp_path, [node("n").price(1)], capsys)
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r"https?://", page)


def areas(page: str, picture: int) -> dict[str, float]:
    """By node, of the largest rectangle of its tile, in shares of all."""
    pictures = [each for each in tree(page).iter("svg") if each.get("aria-label", "").startswith("The nodes")]
    found = {}
    for tile in pictures[picture].iter("g"):
        title = next(tile.iter("title")).text or ""
        sizes = [float(each.attrib["width"]) * float(each.attrib["height"]) for each in tile.iter("rect")]
        found[title.splitlines()[0]] = max(sizes)
    return {name: area / sum(found.values()) for name, area in found.items()}


def test_tiles_are_as_large_as_prices_and_stay_in_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["savings", "--cluster", str(EXAMPLES / "cluster.json"), "-o", "html"])
    page = capsys.readouterr().out
    nodes = [
        each
        for each in json.loads((EXAMPLES / "cluster.json").read_text())["items"]
        if each["kind"] == "Node"
    ]
    prices = {
        each["metadata"]["name"]: float(each["metadata"]["annotations"]["tradewind.dev/price"])
        for each in nodes
    }
    for picture in (0, 1):
        shares = areas(page, picture)
        assert shares == {name: pytest.approx(p / 1.624, abs=0.01) for name, p in prices.items()}
    assert page.count('class="gone"') == 3  # two nodes, and the key
    assert "hatch-before)" not in page
    del tmp_path


def test_estimates_are_hatched_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = shown(tmp_path, [node("known").price(1), node("guessed")], capsys)
    assert page.count("url(#hatch-before)") == 1
    assert "price is an estimate" in page
    assert "of it estimated" in page


def test_an_unknown_interruption_rate_is_shown_as_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spot = node("spot").price(1).label("karpenter.sh/capacity-type", "spot")
    page = shown(tmp_path, [spot, node("durable").price(1)], capsys)
    assert page.count("interruption rate unknown, 5.0 % a month assumed") == 2  # before and after
    assert "spot, rate unknown" in page
    known = spot.annotation("tradewind.dev/interruption-rate", "0.05")
    assert (
        "unknown" not in shown(tmp_path, [known, node("durable").price(1)], capsys).partition("</style>")[2]
    )


@pytest.mark.parametrize(
    "objects", [[pod("p")], [node("n")], [node("n").price(0)], [node("n").price(0), node("m").price(5)]]
)
def test_odd_clusters_have_a_page(
    objects: list[NodeBuilder | PodBuilder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tree(shown(tmp_path, objects, capsys)).tag == "html"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["ip-10-0-0-7.ec2.internal", "ip-10-0-1-12.ec2.internal"], ["0-7", "1-12"]),
        (["gke-main-pool-a1b2", "gke-main-pool-c3d4"], ["a1b2", "c3d4"]),
        (["spot-a1", "durable-a1"], ["spot", "durable"]),
        (["web1", "web2"], ["web1", "web2"]),
        (["a", "a-b"], ["a", "a-b"]),
        (["alone"], ["alone"]),
    ],
)
def test_names_are_shown_without_what_all_have_in_common(names: list[str], shown: list[str]) -> None:
    assert [short_names(names)[name] for name in names] == shown


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=60), st.floats(10, 500), st.floats(10, 500))
def test_a_treemap_fills_its_space_with_the_areas(sizes: list[float], width: float, height: float) -> None:
    sizes.sort(reverse=True)
    found = treemap(sizes, width, height)
    scale = width * height / sum(sizes)
    assert [each.width * each.height for each in found] == [
        pytest.approx(size * scale, rel=1e-6) for size in sizes
    ]
    for each in found:
        assert -1e-6 <= each.x <= each.x + each.width <= width * (1 + 1e-6)
        assert -1e-6 <= each.y <= each.y + each.height <= height * (1 + 1e-6)
    for one, other in pairwise(found):
        apart_x = one.x + one.width <= other.x + 1e-6 or other.x + other.width <= one.x + 1e-6
        apart_y = one.y + one.height <= other.y + 1e-6 or other.y + other.height <= one.y + 1e-6
        assert apart_x or apart_y


def test_serve_has_the_page_of_the_example() -> None:
    with serving() as process:
        process.wait_until_it_listens(process.explain_port)
        connection = http.client.HTTPConnection("127.0.0.1", process.explain_port, timeout=60)
        for _ in range(2):
            connection.request("GET", "/savings.html")
            answer = connection.getresponse()
            assert answer.status == 200
            assert "$0.263/h" in answer.read().decode()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        connection.close()
