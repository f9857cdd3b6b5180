"""The page over HTTP: headers, escaping, empty and odd clusters."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tradewind.explain.decisions import Decisions
from tradewind.page import calculations, pages
from tradewind.page.app import add_page
from tradewind.page.decided import OwnDecisions
from tradewind.page.rendering import POLICY
from tradewind.planner.gate import GATE
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import EXAMPLES, from_file
from tradewind.savings import worker

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}&lt;"
PAGES = ["/", "/?by=kind", "/?by=pool&only=(none)", "/decisions", "/pending", "/plan", "/savings", "/what-if"]
_VOID = {"meta", "link", "input", "img", "br", "hr"}
Show = Callable[[Sequence[NodeBuilder | PodBuilder]], TestClient]


class Page(HTMLParser):
    """Tags that close as they open, and what could run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[str | None] = []
        self.running: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.running += [name for name in found if name.startswith("on") or name == "style"]
        self.running += [tag] if tag in {"img", "iframe", "object", "style"} else []
        self.running += [
            href for name in ("href", "src") if not (href := found.get(name) or "/").startswith(("/", "#"))
        ]
        if tag == "script":
            self.scripts.append(found.get("src"))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no reason to show the bill alone."""
    monkeypatch.setattr(pages, "PATIENCE_SECONDS", 120.0)


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    with ExitStack() as cleanup:

        def shown(objects: Sequence[NodeBuilder | PodBuilder]) -> TestClient:
            path = tmp_path / "cluster.json"
            items = [json.loads(each.json()) for each in objects]
            path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
            parts = Assembly(from_file(path), None)
            cleanup.enter_context(parts.started())
            return client(parts)

        yield shown


def client(parts: Assembly) -> TestClient:
    app = FastAPI(docs_url=None)
    add_page(app, parts, OwnDecisions(Decisions(100, 3600), parts.cache, parts.market.origins))
    return TestClient(app)


@pytest.fixture(scope="module")
def example() -> Iterator[TestClient]:
    parts = Assembly(from_file(EXAMPLES / "cluster.json"), None)
    with parts.started():
        yield client(parts)


def looked_at(client: TestClient, path: str, status: int = 200) -> Page:
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    page = Page(answer.text)
    assert page.running == []
    assert set(page.scripts) <= {"/static/live.js"}
    return page


@pytest.mark.parametrize("path", [*PAGES, "/pods/shop/checkout-0"])
def test_every_page_of_the_example_is_whole_and_closed(example: TestClient, path: str) -> None:
    assert "Tradewind" in looked_at(example, path).text


def test_an_unknown_pod_says_what_to_do(example: TestClient) -> None:
    assert "kubectl tradewind explain" in looked_at(example, "/pods/no/such", 404).text


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("objects", [[], [node("n")], [pod("p")], [node("n").price(0)]])
def test_odd_clusters_have_every_page(objects: list[NodeBuilder | PodBuilder], path: str, show: Show) -> None:
    looked_at(show(objects or [pod("gone").field("status", "phase", value="Failed")]), path)


def test_names_of_others_stay_text(show: Show) -> None:
    objects: list[NodeBuilder | PodBuilder] = [
        node(HOSTILE)
        .price(1)
        .label("topology.kubernetes.io/zone", HOSTILE)
        .label("karpenter.sh/nodepool", HOSTILE),
        pod(HOSTILE).annotation("tradewind.dev/gang", HOSTILE).requests(cpu="1000"),
        pod("planned").annotation(
            "tradewind.dev/plan", json.dumps({"node": HOSTILE, "until": "2999-01-01T00:00:00Z"})
        ),
    ]
    served = show(objects)
    for path in PAGES:
        looked_at(served, path)
    assert HOSTILE in looked_at(served, "/").text
    assert HOSTILE in looked_at(served, "/pending").text
    assert HOSTILE in looked_at(served, "/plan").text


def test_whoever_has_this_version_gets_no_copy(example: TestClient) -> None:
    version = example.get("/").headers["etag"]
    assert example.get("/", headers={"If-None-Match": version}).status_code == 304
    assert example.get("/?by=kind", headers={"If-None-Match": version}).status_code == 200


def test_no_file_but_our_own_is_served(example: TestClient) -> None:
    assert example.get("/static/page.css").headers["content-type"].startswith("text/css")
    assert example.get("/static/live.js").status_code == 200
    for path in ("/static/app.py", "/static/..%2fapp.py", "/static/../app.py"):
        assert example.get(path).status_code == 404


def test_no_prices_are_said_with_what_to_do(show: Show) -> None:
    assert "No node has a price." in looked_at(show([node("n")]), "/").text


def test_a_stale_state_is_said(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    served = show([node("n").price(1)])
    monkeypatch.setattr(Assembly, "stale", property(lambda _: "no news of nodes for 99 s"))
    assert "no news of nodes for 99 s" in looked_at(served, "/pending").text


def test_pending_says_who_holds_what_blocks_and_what_helps(show: Show) -> None:
    gated = pod("gated").field("spec", "schedulingGates", value=[{"name": "other.example/gate"}])
    text = looked_at(
        show([node("n").cpu("4").price(1), pod("large").requests(cpu="64"), gated]), "/pending"
    ).text
    assert "resources: cpu: more than any node has" in text
    assert "a node with more room, smaller requests" in text
    assert "the scheduling gate other.example/gate" in text
    assert "whoever set that gate removes it" in text


def test_held_pods_without_a_plan_hint_at_a_planner_that_is_down(show: Show) -> None:
    held = pod("held").field("spec", "schedulingGates", value=[{"name": GATE}])
    held = held.field("metadata", "creationTimestamp", value="2020-01-01T00:00:00Z")
    assert "The planner may be down" in looked_at(show([node("n").price(1), held]), "/plan").text


def test_marks_of_nodes_are_shown(show: Show) -> None:
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 200))
    plan = json.dumps({"node": "filled", "until": until})
    objects: list[NodeBuilder | PodBuilder] = [
        node("cordoned").price(1).field("spec", "unschedulable", value=True),
        node("filled").price(1),
        pod("p").annotation("tradewind.dev/plan", plan),
    ]
    served = show(objects)
    assert served.get("/").text.count('class="badge"') == 2
    assert "1 pod coming" in looked_at(served, "/").text


def test_what_if_with_another_configuration(example: TestClient) -> None:
    page = looked_at(example, "/what-if?preset=cost&weights=price%3D9")
    assert "placed anew on both sides" in page.text
    assert "pods without a place" in page.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("weights=prize%3D3", 'weights: unknown key "prize"'),
        ("yaml=market%3A+%7B%7D", '"market" cannot be supposed here'),
        ("preset=cost&without=nobody", "there is no node or pool nobody"),
    ],
)
def test_what_if_names_the_place_of_an_error_and_keeps_what_was_written(
    example: TestClient, query: str, said: str
) -> None:
    page = looked_at(example, f"/what-if?{query}", 400)
    assert said in page.text
    assert '<details class="configuration" open>' in example.get(f"/what-if?{query}").text


def test_savings_that_take_long_show_the_bill_at_once(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PATIENCE_SECONDS", 0.0)
    with show([node("n").price(1.5), node("m").price(2)]) as served:
        first = looked_at(served, "/savings").text
        assert "$3.50/h" in first
        assert "Looking for nodes that can be emptied." in first
        monkeypatch.setattr(pages, "PATIENCE_SECONDS", 120.0)
        assert "What stays, and why" in looked_at(served, "/savings").text


def test_whoever_comes_when_many_wait_is_told_so(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calculations, "_MAX_WAITING", 0)
    served = show([node("n").price(1)])
    assert "others are asking as well" in looked_at(served, "/savings", 503).text
    assert "others are asking as well" in looked_at(served, "/what-if?without=n", 503).text
    assert "others are asking as well" in served.get("/savings.html").text


def test_savings_that_fail_say_so_and_what_to_do(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_SECONDS", 0.01)
    text = looked_at(show([node("n").price(1)]), "/savings", 503).text
    assert "That could not be worked out." in text
    assert "tradewind savings" in text
