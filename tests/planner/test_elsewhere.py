"""Why a pod is not planned onto the node that scores highest for it."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.policy import Policy
from scoring.scorers.price import Price
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import copies, filled, policy_of
from tradewind.cluster.objects import Pod
from tradewind.planner.elsewhere import elsewhere
from tradewind.planner.planner import plan
from tradewind.planner.worker import Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def told(
    nodes: list[NodeBuilder], pods: list[PodBuilder], *, priced: bool = True, worker: Worker | None = None
) -> dict[str, str]:
    cache = filled(nodes, pods)
    found = plan(cache.snapshot(), cache.all_pods(), _by_price, worker, 5)
    return {name: str(each) for name, each in elsewhere(found.batch, found.plan, priced=priced).items()}


def _by_price(each: Pod) -> Policy:
    return Policy(policy_of(each).filters, ((Price(), 1.0),))


def test_nothing_is_said_of_pods_on_their_favourite() -> None:
    assert told([node("a").price(1), node("b").price(2)], [pod("p").requests(cpu="1")]) == {}


def test_room_that_goes_to_others() -> None:
    """Both want a, at a quarter of $1 for each core; it has room for one."""
    nodes = [node("a").cpu("4").price(1), node("b").cpu("4").price(1.2)]
    found = told(nodes, copies(pod("p").requests(cpu="3"), "p", 2))
    assert list(found.values()) in (
        ["a would score higher, but its room goes to default/p-0"],
        ["a would score higher, but its room goes to default/p-1"],
    )


_OPEN = [pod("there").requests(cpu="1").on("b"), pod("p").requests(cpu="1")]


@pytest.mark.parametrize(
    ("priced", "reason"),
    [(True, "opening it costs $1/h"), (False, "it would be one node more")],
)
def test_a_node_that_would_have_to_be_opened(priced: bool, reason: str) -> None:
    """A core costs $0.25 on a and $0.30 on b, which is paid for already."""
    nodes = [node("a").cpu("4").price(1), node("b").cpu("4").price(1.2)]
    assert told(nodes, _OPEN, priced=priced) == {"default/p": f"a would score higher, but {reason}"}


def test_a_node_that_costs_more_as_a_whole(worker: Worker) -> None:
    """A core of a is $0.125 and of b $0.25, yet a whole is $2 and b $1."""
    nodes = [node("a").cpu("16").memory("64Gi").price(2), node("b").cpu("4").price(1)]
    assert told(nodes, [pod("p").requests(cpu="1")], worker=worker) == {
        "default/p": "a would score higher, but it costs $2/h, and b $1/h"
    }


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 16), st.integers(1, 9)), min_size=1, max_size=5),
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
)
def test_it_is_said_of_placed_pods_and_of_another_node(
    sizes: list[tuple[int, int]], requests: list[int]
) -> None:
    nodes = [node(f"n{at}").cpu(cpu).price(price) for at, (cpu, price) in enumerate(sizes)]
    cache = filled(nodes, [pod(f"p{at}").requests(cpu=cpu) for at, cpu in enumerate(requests)])
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1)
    where = {each.pod: each.node for each in found.plan.placements}
    for name, each in elsewhere(found.batch, found.plan, priced=True).items():
        assert each.favourite != where[name]
        assert each.reason
