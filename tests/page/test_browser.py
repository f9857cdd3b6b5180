"""Every page in Debian's Chromium: nothing complains, nothing runs that is not ours, nobody else is asked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.cli.test_serve import _REQUEST, ask, eventually, serving
from tests.page.browser import Browser, browser, found
from tests.page.test_app import HOSTILE, PAGES

pytestmark = pytest.mark.skipif(found() is None, reason="Debian's package chromium is not installed")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@contextmanager
def served(directory: Path, objects: list[NodeBuilder | PodBuilder]) -> Iterator[str]:
    path = directory / "cluster.json"
    items = [json.loads(each.json()) for each in objects]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    with serving("--cluster", str(path)) as process:
        process.wait_until_it_listens(process.explain_port)
        yield f"http://127.0.0.1:{process.explain_port}"


def look(chromium: Browser, url: str) -> None:
    chromium.open(url)
    assert chromium.run("document.querySelectorAll('main').length") == 1
    assert chromium.run("document.documentElement.scrollWidth <= innerWidth")
    assert chromium.complaints() == []
    assert {urlsplit(each).hostname for each in chromium.asked_for()} == {"127.0.0.1"}


def test_the_example_wide_and_narrow_and_by_keyboard(chromium: Browser) -> None:
    with serving() as process:
        process.wait_until_it_listens(process.explain_port)
        ask(process.port, "POST", "/filter", _REQUEST)
        base = f"http://127.0.0.1:{process.explain_port}"
        eventually(lambda: ask(process.explain_port, "GET", "/explain/shop/checkout-0")[0] == 200)
        for width, scheme in ((1440, "light"), (390, "dark")):
            chromium.size(width, 900, scheme)
            for path in [*PAGES, "/pods/shop/checkout-0"]:
                look(chromium, base + path)
        chromium.open(f"{base}/decisions")
        chromium.press("Tab", 9)
        assert chromium.run("document.activeElement.className") == "skip"
        chromium.press("Enter", 13)
        assert chromium.run("document.activeElement.id") == "content"
        for _ in range(4):  # show, namespace, the button, the first decision
            chromium.press("Tab", 9)
        assert chromium.run("document.activeElement.pathname") == "/pods/shop/checkout-0"
        chromium.press("Enter", 13)
        eventually(lambda: chromium.run("location.pathname") == "/pods/shop/checkout-0")


def test_live_updates_swap_what_has_changed(chromium: Browser) -> None:
    with serving() as process:
        process.wait_until_it_listens(process.explain_port)
        chromium.open(f"http://127.0.0.1:{process.explain_port}/decisions")
        assert chromium.run("document.querySelector('#stream h2').textContent") == "Nothing was decided yet"
        ask(process.port, "POST", "/filter", _REQUEST)
        eventually(lambda: chromium.run("document.querySelectorAll('.stream li').length") == 1)
        assert chromium.complaints() == []


def test_names_of_others_run_nothing(chromium: Browser, tmp_path: Path) -> None:
    plan = json.dumps({"node": HOSTILE, "until": "2999-01-01T00:00:00Z"})
    objects: list[NodeBuilder | PodBuilder] = [
        node(HOSTILE).price(1).label("topology.kubernetes.io/zone", HOSTILE),
        pod(HOSTILE).annotation("tradewind.dev/gang", HOSTILE).requests(cpu="1000"),
        pod("planned").annotation("tradewind.dev/plan", plan),
    ]
    with served(tmp_path, objects) as base:
        for path in PAGES:
            look(chromium, base + path)
            assert chromium.run("document.querySelectorAll('img, main script').length") == 0


def test_what_if_by_keyboard_and_with_hostile_words(chromium: Browser) -> None:
    with serving() as process:
        process.wait_until_it_listens(process.explain_port)
        base = f"http://127.0.0.1:{process.explain_port}/what-if"
        chromium.open(base)
        chromium.run("document.querySelector('input[name=without]').focus()")
        chromium.run("document.querySelector('input[name=without]').value = 'durable-a1'")
        chromium.press("Enter", 13)
        eventually(lambda: "without=durable-a1" in chromium.run("location.href"))
        eventually(lambda: "shop/web-0" in str(chromium.run("document.body?.textContent")))
        for written in (HOSTILE, "x" * 5000):
            chromium.open(f"{base}?price={quote(written, safe='')}")
            assert chromium.run("document.querySelectorAll('img, main script').length") == 0
            assert "cannot be worked out" in chromium.run("document.body.textContent")


def test_another_configuration_by_keyboard(chromium: Browser) -> None:
    """From the last of the plain fields: the fold, the preset, the weights, the YAML, the button."""
    with serving() as process:
        process.wait_until_it_listens(process.explain_port)
        base = f"http://127.0.0.1:{process.explain_port}/what-if"
        for width in (1440, 390):
            chromium.size(width, 900)
            chromium.open(base)
            chromium.run("document.querySelector('input[name=scale]').focus()")
            chromium.press("Tab", 9)
            chromium.press("Enter", 13)
            assert chromium.run("document.querySelector('.configuration').open")
            chromium.press("Tab", 9)
            chromium.press("c", 67)
            assert chromium.run("document.activeElement.value") == "cost"
            for name in ("weights", "yaml"):
                chromium.press("Tab", 9)
                assert chromium.run("document.activeElement.name") == name
            chromium.press("Tab", 9)
            chromium.press("Enter", 13)
            eventually(lambda: "placed anew on both sides" in str(chromium.run("document.body?.textContent")))
            assert chromium.run("document.querySelector('select[name=preset]').value") == "cost"
            assert chromium.run("document.documentElement.scrollWidth <= innerWidth")
        assert chromium.complaints() == []
        chromium.open(f"{base}?yaml={quote(HOSTILE, safe='')}&weights={quote(HOSTILE, safe='')}")
        assert chromium.run("document.querySelectorAll('img, main script').length") == 0
        assert "cannot be worked out" in chromium.run("document.body.textContent")


def test_the_shadow_says_so_on_every_page(chromium: Browser) -> None:
    with serving("--shadow") as process:
        process.wait_until_it_listens(process.explain_port)
        for width, scheme in ((1440, "light"), (390, "dark")):
            chromium.size(width, 900, scheme)
            for path in ("/", "/savings", "/decisions"):
                look(chromium, f"http://127.0.0.1:{process.explain_port}{path}")
                assert "Tradewind is in the shadow." in chromium.run("document.body.textContent")


def test_a_cluster_without_nodes(chromium: Browser, tmp_path: Path) -> None:
    with served(tmp_path, [pod("alone")]) as base:
        for path in PAGES:
            look(chromium, base + path)


def test_five_thousand_nodes_are_all_there(chromium: Browser, tmp_path: Path) -> None:
    zones = ("a", "b", "c")
    objects: list[NodeBuilder | PodBuilder] = [
        node(f"n{number}").price(0.1 + number % 7).label("topology.kubernetes.io/zone", zones[number % 3])
        for number in range(5000)
    ]
    with served(tmp_path, objects) as base:
        for path in ("/", "/?by=kind", "/pending", "/decisions", "/plan"):
            look(chromium, base + path)
        chromium.open(f"{base}/")
        assert chromium.run("document.querySelectorAll('.map svg[role=img] g').length") == 5000
