"""An explanation as text: the example cluster word for word, and any width."""

import re

import pytest

from tests.builders import node
from tests.explain.service import CHECKOUT, WANTED, serving, serving_example
from tradewind.explain import report

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
    service.schedule(CHECKOUT)
    text = report.text(service.explain(CHECKOUT), columns=100)
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "AT", text) == _EXAMPLE_STORY


@pytest.mark.parametrize("columns", [20, 40, 57, 80, 93, 120, 300])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    tail = "eu-west-1.compute.internal"
    nodes = [node(f"ip-10-0-{i}-17.{tail}").cpu(2 + i % 3).price(0.1 + i / 100) for i in range(15)]
    small = [node(f"ip-10-1-{i}-17.{tail}").cpu("1").price(0.1) for i in range(15)]
    service = serving(*nodes, *small)
    wished = WANTED.annotation("tradewind.dev/disk-type", "ssd").priority(2000)
    service.schedule(wished.annotation("tradewind.dev/disk-type-policy", "preferred"))
    lines = report.text(service.explain(wished), columns).splitlines()
    assert max(map(len, lines)) <= min(max(columns, 40), 120)


def test_scorers_that_there_is_no_room_for_are_named() -> None:
    labels = {"disktype": "ssd", "networktype": "fast"}
    one = node("one-of-a-long-name").cpu("8").price(0.3)
    for key, value in labels.items():
        one = one.label(key, value)
    other = node("two-of-a-long-name").price(0.2).label("tradewind.dev/capacity-type", "spot")
    wished = WANTED.priority(2000)
    for wish, value in (("disk-type", "ssd"), ("network-type", "fast")):
        wished = wished.annotation(f"tradewind.dev/{wish}", value)
        wished = wished.annotation(f"tradewind.dev/{wish}-policy", "preferred")
    service = serving(one, other)
    service.schedule(wished)
    told = service.explain(wished)
    assert "Left out for lack of room: " in report.text(told, 80)
    assert "Left out for lack of room: " not in report.text(told, 120)
