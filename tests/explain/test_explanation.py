"""Why a pod is where it is: over HTTP as kube-scheduler's requests and the cluster state tell it."""

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from extender.app import App, add_explain, add_verbs
from extender.metrics import ExtenderMetrics
from extender.verbs import UNKNOWN_NODE, Verbs
from scoring.filters.resources import Resources
from scoring.policy import Policy
from scoring.registry import SCORERS
from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.files import load
from tradewind.cluster.guide import Guide, GuidedKind, Role
from tradewind.config.document import DEFAULT
from tradewind.explain import report
from tradewind.explain.decisions import Decisions
from tradewind.explain.explanation import Explanation
from tradewind.runtime.source import EXAMPLES

_REQUEST = json.loads((EXAMPLES / "request.json").read_bytes())
_CHECKOUT = PodBuilder(_REQUEST["Pod"])
_RATE = "tradewind.dev/interruption-rate"


@dataclass
class Cluster:
    cache: Cache = field(default_factory=lambda: Cache(offer_of))
    synced: bool = True
    stale: str = ""

    watches: tuple[()] = ()


@dataclass
class Service:
    """A Tradewind, and as much of kube-scheduler as asks it."""

    cluster: Cluster = field(default_factory=Cluster)
    decisions: Decisions = field(default_factory=lambda: Decisions(100, 3600))
    policy: Policy = field(default_factory=lambda: DEFAULT.policies().default)

    def __post_init__(self) -> None:
        app = App()
        add_verbs(
            app, Verbs(self.cluster, lambda _: self.policy, ExtenderMetrics(), None, self.decisions), 2**20
        )
        add_explain(app, self.decisions, self.cluster.cache)
        self.client = TestClient(app)

    def schedule(self, wanted: PodBuilder, names: list[str] | None = None) -> list[str]:
        """Filter, and prioritize what passes if that is more than one node."""
        asked = names or list(self.cluster.cache.snapshot().nodes.names)
        passed: list[str] = self._ask("/filter", wanted, asked)["NodeNames"]
        if len(passed) > 1:
            self._ask("/prioritize", wanted, passed)
        return passed

    def explain(self, wanted: PodBuilder) -> Explanation:
        answer = self.client.get(f"/explain/{wanted.build()}")
        assert answer.status_code == 200, answer.text
        return Explanation.model_validate_json(answer.content)

    def story(self, wanted: PodBuilder) -> str:
        return "\n".join(self.explain(wanted).sentences)

    def _ask(self, path: str, wanted: PodBuilder, names: list[str]) -> Any:
        body = json.dumps({"Pod": wanted.document, "NodeNames": names})
        return self.client.post(path, content=body).json()


def serving(*nodes: NodeBuilder) -> Service:
    service = Service()
    for each in nodes:
        service.cluster.cache.apply_node(each.build())
    return service


def serving_example() -> Service:
    service = Service()
    load(EXAMPLES / "cluster.json", service.cluster.cache)
    return service


_CHEAP = node("cheap").price(0.1)
_DEAR = node("dear").price(0.4)
_WANTED = pod("cart-7").namespace("shop").requests(cpu="2", memory="2Gi")


_EXAMPLE_STORY = """\
shop/checkout-0 is not placed yet. Tradewind prefers spot-a1 ($0.0181/h) because it offers a lower
risk of interruption (5% instead of 12%).
spot-b2 ($0.0188/h) is second: it offers a better balance of free resources and a tighter fit (60.4%
instead of 61.2% of the node stays free), which counts for less.
spot-c1 ($0.0169/h) is the cheapest, but number 3: spot-a1 offers a lower risk of interruption (5%
instead of 20%).
kube-scheduler asked about 7 of 7 nodes: 6 passed, 1 was rejected.

Ranked: 6 of 6, by the sum of the weighted scores
                                                        resource
                                      price  stability       fit  equivalence
#  node            $/h  level  total    x 2        x 1       x 1        x 0.5
1  spot-a1      0.0181     10  5.340  1.268      0.950     0.388        0.234
2  spot-b2      0.0188      8  5.279  1.250      0.880     0.396        0.254
3  spot-c1      0.0169      6  5.227  1.299      0.800     0.381        0.246
4  durable-b1   0.0490      2  5.067  0.780      1.000     0.552        0.235
5  durable-big  0.0439      0  5.007  0.833      1.000     0.447        0.226
6  durable-a1   0.0490      0  4.981  0.780      1.000     0.486        0.215
The same on all of them: disk_type, network_type, workload_priority, guide.

Rejected: 1 of 7
1  ###                   node(s) had insufficient free resources (resources: cpu on 1)
                         spot-b1 ($0.0199/h)

Decided AT UTC; kube-scheduler asked once. Workload class: default."""


def test_the_example_cluster_reads_well() -> None:
    service = serving_example()
    service.schedule(_CHECKOUT)
    text = report.text(service.explain(_CHECKOUT), columns=100)
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "AT", text) == _EXAMPLE_STORY


def test_the_numbers_behind_the_sentences() -> None:
    service = serving_example()
    service.schedule(_CHECKOUT)
    told = service.explain(_CHECKOUT)
    assert (told.best, told.placed_on, told.workload_class) == ("spot-a1", None, "default")
    assert told.weights["price"] == 2
    best = told.ranked[0]
    assert best.total == pytest.approx(sum(term.weighted for term in best.terms.values()))
    # The pod takes 1 of 3.92 cores at $0.071/h.
    assert best.dollars_an_hour == pytest.approx(0.071 / 3.92)
    assert told.decided is not None
    # Stability: 0.95 - 0.88; of the runner-up's advantages balance and fit are the smaller ones.
    assert (told.decided.runner_up, told.decided.by) == ("spot-b2", "stability")
    assert told.decided.difference == pytest.approx(0.07)
    assert told.candidates is not None
    assert told.candidates.names == _REQUEST["NodeNames"]
    assert [(each.rule, each.short_of) for each in told.candidates.rejected] == [("resources", {"cpu": 1})]


def test_a_pod_on_the_best_node_is_there_because_of_what_decided() -> None:
    service = serving(_CHEAP, _DEAR)
    service.schedule(_WANTED)
    service.cluster.cache.apply_pod(_WANTED.on("cheap").build())
    # The pod takes half of a node; the builder's nodes are the same but for the price.
    price = "a lower price ($0.0500/h instead of $0.200/h)"
    assert service.explain(_WANTED).sentences == [
        f"shop/cart-7 is placed on cheap ($0.0500/h) because it offers {price}.",
        "dear ($0.200/h) is second: it offers nothing better.",
        "kube-scheduler asked about 2 of 2 nodes: 2 passed, 0 were rejected.",
    ]


def test_a_pod_elsewhere_was_outvoted() -> None:
    service = serving(_CHEAP, _DEAR)
    service.schedule(_WANTED)
    service.cluster.cache.apply_pod(_WANTED.on("dear").build())
    story = service.story(_WANTED)
    assert story.startswith("shop/cart-7 is placed on dear ($0.200/h). Tradewind preferred cheap ($0.0500/h)")
    assert (
        "kube-scheduler chose dear, number 2 here: its own scores or an earlier nomination outweighed "
        "Tradewind's." in story
    )


def test_a_pod_on_a_node_that_was_rejected() -> None:
    service = serving(_CHEAP, _DEAR, node("small").cpu("1"))
    service.schedule(_WANTED)
    service.cluster.cache.apply_pod(_WANTED.on("small").build())
    expected = f"kube-scheduler chose small, although Tradewind had rejected it: {Resources.reason}."
    assert expected in service.story(_WANTED)


def test_a_pod_on_a_node_that_was_not_asked_about() -> None:
    service = serving(_CHEAP, _DEAR)
    service.schedule(_WANTED)
    service.cluster.cache.apply_pod(_WANTED.on("other").build())
    assert "kube-scheduler chose other, which is not among the best here" in service.story(_WANTED)


def test_a_pod_that_is_gone() -> None:
    service = serving(_CHEAP, _DEAR)
    service.schedule(_WANTED)
    assert service.story(_WANTED).startswith(
        "shop/cart-7 is gone, or too new to be seen. Tradewind preferred cheap ($0.0500/h)"
    )


def test_a_successor_of_the_same_name_does_not_tell_where_this_one_went() -> None:
    service = serving(_CHEAP, _DEAR)
    service.schedule(_WANTED)
    service.cluster.cache.apply_pod(_WANTED.uid("another").on("cheap").build())
    assert service.explain(_WANTED).placed_on is None


def test_cheaper_nodes_that_lost_or_were_rejected_are_named() -> None:
    stable = node("stable").price(0.4).annotation(_RATE, "0")
    second = node("second").price(0.38).annotation(_RATE, "0.1")
    risky = node("risky").price(0.36).annotation(_RATE, "0.6")
    service = serving(stable, second, risky, node("full").price(0.05), node("small").cpu("1").price(0.01))
    service.cluster.cache.apply_pod(pod("other").requests(cpu="3").on("full").build())
    service.schedule(_WANTED)
    story = service.story(_WANTED)
    assert (
        "risky ($0.180/h) is the cheapest, but number 3: stable offers a lower risk of interruption "
        "(0% instead of 60%)." in story
    )
    assert f"full would cost $0.0250/h, but is rejected: {Resources.reason}." in story
    assert "small" not in story  # too small even if it were empty


@pytest.mark.parametrize(
    "without",
    [
        pytest.param({"price"}, id="price does not count"),
        pytest.param({each.scorer.name for each in SCORERS}, id="nothing counts"),
    ],
)
def test_a_cheaper_node_that_is_as_good_is_no_riddle(without: set[str]) -> None:
    """The document must give some scorer a weight; a policy need not."""
    policy = DEFAULT.policies().default
    scorers = tuple((rule, 0.0 if rule.name in without else weight) for rule, weight in policy.scorers)
    service = Service(policy=replace(policy, scorers=scorers))
    for each in (_DEAR, _CHEAP):
        service.cluster.cache.apply_node(each.build())
    service.schedule(_WANTED)
    told = service.explain(_WANTED)
    assert "Tradewind preferred dear ($0.200/h) and cheap ($0.0500/h) alike." in told.sentences[0]
    assert "cheap" in report.text(told, 80)


def test_the_second_is_not_named_again_as_the_cheapest() -> None:
    stable = node("stable").price(0.12).annotation(_RATE, "0.05")
    cheap = node("cheap").price(0.11).annotation(_RATE, "0.9")
    service = serving(stable, cheap)
    service.schedule(_WANTED)
    assert [sentence.split(" (")[0] for sentence in service.explain(_WANTED).sentences[1:]] == [
        "cheap",
        "kube-scheduler asked about 2 of 2 nodes: 2 passed, 0 were rejected.",
    ]


def test_equal_nodes_are_preferred_alike() -> None:
    twins = [node(f"twin-{i}").price(0.1) for i in range(5)]
    service = serving(*twins, _DEAR)
    service.schedule(_WANTED)
    assert (
        "Tradewind preferred twin-0 ($0.0500/h), twin-1 ($0.0500/h), twin-2 ($0.0500/h) and 2 more alike "
        "because they offer a lower price ($0.0500/h instead of $0.200/h)." in service.story(_WANTED)
    )
    assert "dear ($0.200/h) is next: it offers nothing better." in service.story(_WANTED)
    service.cluster.cache.apply_pod(_WANTED.on("twin-3").build())
    expected = "shop/cart-7 is placed on twin-3 ($0.0500/h), one of 5 equally good nodes because"
    assert service.story(_WANTED).startswith(expected)


def test_of_many_equal_nodes_any_may_be_the_chosen_one() -> None:
    service = serving(*(node(f"twin-{i:02d}").price(0.1) for i in range(30)))
    service.schedule(_WANTED)
    service.cluster.cache.apply_pod(_WANTED.on("twin-29").build())
    assert "kube-scheduler chose twin-29, perhaps one of the 30 equally good ones." in service.story(_WANTED)


def test_a_pod_that_fits_nowhere() -> None:
    service = serving(node("a").cpu("1"), node("b").cpu("1"), node("c").label("disktype", "hdd"))
    wished = _WANTED.annotation("tradewind.dev/disk-type", "ssd")
    service.cluster.cache.apply_pod(wished.build())
    assert not service.schedule(wished)
    assert service.explain(wished).sentences == [
        "shop/cart-7 is not placed yet.",
        f"No candidate can take it. The most frequent reason: {Resources.reason} (2 nodes).",
        "kube-scheduler asked about 3 of 3 nodes: 0 passed, 3 were rejected.",
    ]


def test_the_only_node_left_has_its_price() -> None:
    service = serving(_DEAR, node("small").cpu("1"))
    service.cluster.cache.apply_pod(_WANTED.build())
    service.schedule(_WANTED)
    expected = "shop/cart-7 is not placed yet. Tradewind prefers dear ($0.200/h), the only candidate left."
    assert service.explain(_WANTED).sentences[0] == expected


def test_a_single_candidate_may_be_a_nomination() -> None:
    service = serving(_CHEAP, _DEAR)
    service.schedule(_WANTED, ["dear"])
    told = service.explain(_WANTED)
    assert told.sentences[0].endswith("Tradewind preferred dear ($0.200/h).")
    assert told.sentences[-1] == (
        "kube-scheduler asked about 1 of 2 nodes: 1 passed, 0 were rejected; its own filters left no other, "
        "or the pod was nominated to it."
    )


def test_an_unknown_node_is_rejected_without_a_rule() -> None:
    service = serving(_CHEAP, _DEAR)
    service.schedule(_WANTED, ["cheap", "dear", "ghost"])
    candidates = service.explain(_WANTED).candidates
    assert candidates is not None
    assert [(each.rule, each.reason) for each in candidates.rejected] == [("", UNKNOWN_NODE)]
    assert f"{UNKNOWN_NODE}\n" in report.text(service.explain(_WANTED), 100)


def test_nodes_without_a_price() -> None:
    service = serving(node("a").cpu("3").memory("12Gi"), node("b"))
    service.schedule(_WANTED)
    told = service.explain(_WANTED)
    assert told.sentences[0].endswith(
        "Tradewind preferred a (at an unknown price) because it offers a tighter fit "
        "(58.3% instead of 68.8% of the node stays free)."  # (1/3 + 10/12) / 2 and (2/4 + 14/16) / 2
    )
    assert told.ranked[0].dollars_an_hour is None
    assert re.search(r"1  a +\? ", report.text(told, 100))


def test_filtered_but_not_ranked() -> None:
    service = serving(_CHEAP, _DEAR)
    service._ask("/filter", _WANTED, ["cheap", "dear"])
    assert "2 nodes can take it; kube-scheduler did not ask here which one to prefer." in service.story(
        _WANTED
    )


def test_standing_aside_is_told() -> None:
    service = serving(_CHEAP, _DEAR)
    service.cluster.synced = False
    service.schedule(_WANTED)
    assert service.explain(_WANTED).sentences == [
        "Tradewind failed open for shop/cart-7: the cluster state was not complete yet.",
        "Every node passed and none was preferred, as if Tradewind were not there.",
    ]


def test_a_fault_of_the_memory_does_not_change_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Forgetful(Decisions):
        def filtered(self, *_: object, **__: object) -> None:
            raise ZeroDivisionError

        def ranked(self, *_: object, **__: object) -> None:
            raise ZeroDivisionError

    service = Service(decisions=Forgetful(10, 3600))
    for each in (_CHEAP, _DEAR, node("small").cpu("1")):
        service.cluster.cache.apply_node(each.build())
    assert service.schedule(_WANTED) == ["cheap", "dear"]
    assert "ZeroDivisionError" in caplog.text


def test_a_pod_that_was_never_seen_gets_a_sentence() -> None:
    answer = Service().client.get("/explain/shop/nobody")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith(
        "kube-scheduler did not ask this Tradewind about pod shop/nobody, or so long ago"
    )


def test_it_is_in_the_openapi_document() -> None:
    paths = Service().client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/explain/{namespace}/{pod}"}


@pytest.mark.parametrize("columns", [20, 80, 93, 120, 300])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    tail = "eu-west-1.compute.internal"
    nodes = [node(f"ip-10-0-{i}-17.{tail}").cpu(2 + i % 3).price(0.1 + i / 100) for i in range(15)]
    small = [node(f"ip-10-1-{i}-17.{tail}").cpu("1").price(0.1) for i in range(15)]
    service = serving(*nodes, *small)
    wished = _WANTED.annotation("tradewind.dev/disk-type", "ssd").priority(2000)
    service.schedule(wished.annotation("tradewind.dev/disk-type-policy", "preferred"))
    lines = report.text(service.explain(wished), columns).splitlines()
    assert max(map(len, lines)) <= min(max(columns, 80), 120)


def test_scorers_that_there_is_no_room_for_are_named() -> None:
    labels = {"disktype": "ssd", "networktype": "fast"}
    one = node("one-of-a-long-name").cpu("8").price(0.3)
    for key, value in labels.items():
        one = one.label(key, value)
    other = node("two-of-a-long-name").price(0.2).label("tradewind.dev/capacity-type", "spot")
    wished = _WANTED.priority(2000)
    for wish, value in (("disk-type", "ssd"), ("network-type", "fast")):
        wished = wished.annotation(f"tradewind.dev/{wish}", value)
        wished = wished.annotation(f"tradewind.dev/{wish}-policy", "preferred")
    service = serving(one, other)
    service.schedule(wished)
    told = service.explain(wished)
    assert "Left out for lack of room: " in report.text(told, 80)
    assert "Left out for lack of room: " not in report.text(told, 120)


def test_a_node_that_the_standing_plan_drains_is_told_of() -> None:
    service = serving(_CHEAP, _DEAR)
    kind = GuidedKind(bids={}, needed=14, own_pods=0, roles={Role.DRAIN: ["dear", *map(str, range(19))]})
    service.cluster.cache.follow_guide(Guide(version=1, solved_at=0.0, until=1.0, kinds=[kind]))
    service.schedule(_WANTED)
    told = " ".join(service.explain(_WANTED).sentences)
    assert "Node dear is to be drained: the standing plan needs 14 of these 20 nodes." in told
    assert "Node cheap is to be drained" not in told
