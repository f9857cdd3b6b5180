"""Windows is not priced as Linux, and a machine with accelerators not as one without."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.scorers.price import pod_cost
from tests.builders import NodeBuilder, node, pod
from tradewind.cluster.cache import Cache
from tradewind.errors import PriceTableError
from tradewind.market.estimates import Estimates
from tradewind.market.kinds import Kind
from tradewind.market.market import Market
from tradewind.market.pools import Attached, Pool, Shape
from tradewind.market.quotes import Origin
from tradewind.market.rows import csv_rows
from tradewind.market.table import PriceTable

_OS = "kubernetes.io/os"
_TYPE = "node.kubernetes.io/instance-type"
_MODEL, _COUNT = "cloud.google.com/gke-accelerator", "cloud.google.com/gke-accelerator-count"


def typed(name: str, instance_type: str, system: str = "") -> NodeBuilder:
    built = node(name).cpu(4).memory("16Gi").label(_TYPE, instance_type)
    return built.label(_OS, system) if system else built


def accelerated(name: str, model: str = "nvidia-tesla-t4", count: int = 1) -> NodeBuilder:
    built = typed(name, "n1-standard-4").label(_MODEL, model).label(_COUNT, str(count))
    return built.resource("nvidia.com/gpu", count)


def prices(table: str, *nodes: NodeBuilder) -> list[float]:
    """Of the nodes of one cluster."""
    market = Market(table=PriceTable(csv_rows(table)))
    return [float(price) for price in market.offers([each.build() for each in nodes])[0]]


@pytest.mark.parametrize(
    ("row", "linux", "windows"),
    [
        pytest.param("m5.large,0.096,,", 0.096, math.nan, id="left out: a price of Linux"),
        pytest.param("m5.large,0.188,windows,", math.nan, 0.188, id="Windows"),
        pytest.param("m5.large,0.188,Windows,", math.nan, 0.188, id="in any case"),
        pytest.param("m5.large,0.2,*,", 0.2, 0.2, id="either"),
        pytest.param(",0.3,,n", 0.3, 0.3, id="a row for one node, whatever runs on it"),
    ],
)
def test_the_column_os(row: str, linux: float, windows: float) -> None:
    table = PriceTable(csv_rows(f"instance_type,price,os,node\n{row}\n"))
    systems = ["linux", "windows"]
    pool = Pool("m5.large", "", "on-demand")
    found = [table.quote(typed("n", "m5.large", each).build(), pool, "").price for each in systems]
    assert found == pytest.approx([linux, windows], nan_ok=True)


def test_rates_hold_for_either_system() -> None:
    table = PriceTable(csv_rows("instance_type,capacity_type,interruption_rate\nm5.*,spot,0.1\n"))
    windows = typed("n", "m5.large", "windows").build()
    assert table.quote(windows, Pool("m5.large", "", "spot"), "").interruption_rate == 0.1


def test_a_named_system_beats_any() -> None:
    table = PriceTable(csv_rows("instance_type,os,price\nm5.large,*,1\nm5.large,windows,2\n"))
    pool = Pool("m5.large", "", "on-demand")
    found = [table.quote(typed("n", "m5.large", each).build(), pool, "").price for each in ("", "windows")]
    assert found == [1, 2]


def test_another_system_is_refused() -> None:
    with pytest.raises(PriceTableError, match='line 2, column os: "solaris" is neither linux nor windows'):
        csv_rows("instance_type,os,price\nm5.large,solaris,1\n")


def test_windows_is_unknown_where_only_linux_is_known() -> None:
    """Its licence is no ratio of the machine's price."""
    found = prices(
        "instance_type,price\nm5.large,0.096\n", typed("a", "m5.large"), typed("b", "m5.large", "windows")
    )
    assert found == pytest.approx([0.096, math.nan], nan_ok=True)


def test_windows_is_estimated_from_windows() -> None:
    """6 x $0.05 of a core's median: 0.2 / 4 cores."""
    table = "instance_type,os,price\nm5.xlarge,windows,0.2\nm5.xlarge,linux,0.1\n"
    others = typed("a", "m5.xlarge", "windows"), typed("b", "m5.xlarge")
    assert prices(table, *others, typed("c", "m5.huge", "windows").cpu(6))[2] == pytest.approx(0.3)


def test_the_hint_names_the_system() -> None:
    market = Market(table=PriceTable(csv_rows("instance_type,price\nm5.large,0.096\n")))
    market.offers([typed("a", "m5.large", "windows").build()])
    assert "no price for m5.large (on-demand, windows)" in str(market.price_coverage())


def test_karpenters_prices_are_of_linux() -> None:
    market = Market()
    market.quote({}, {Pool("m5.large", "", "on-demand"): 0.096})
    built = [typed("a", "m5.large").build(), typed("b", "m5.large", "windows").build()]
    assert market.offers(built)[0].tolist() == pytest.approx([0.096, math.nan], nan_ok=True)


_GPU_TABLE = """\
instance_type,gpu,capacity_type,price
n1-standard-4,,,0.19
,nvidia-tesla-t4,,0.35
,nvidia-tesla-t4,spot,0.11
"""


@pytest.mark.parametrize(
    ("built", "price"),
    [
        pytest.param(typed("n", "n1-standard-4"), 0.19, id="the machine alone"),
        pytest.param(accelerated("n"), 0.19 + 0.35, id="with one"),
        pytest.param(accelerated("n", count=4), 0.19 + 4 * 0.35, id="with four"),
        pytest.param(
            typed("n", "n1-standard-4").label(_MODEL, "nvidia-tesla-t4").resource("nvidia.com/gpu", 2),
            0.19 + 2 * 0.35,
            id="counted by the kubelet",
        ),
        pytest.param(
            accelerated("n").resource("nvidia.com/gpu", 8), 0.19 + 0.35, id="one that eight pods may share"
        ),
        pytest.param(
            typed("n", "n1-standard-4")
            .label("nvidia.com/gpu.product", "Nvidia-Tesla-T4")
            .label("nvidia.com/gpu.count", "1"),
            0.19 + 0.35,
            id="NVIDIA's own labels",
        ),
        pytest.param(accelerated("n", "nvidia-l4"), math.nan, id="of another model"),
    ],
)
def test_attached_accelerators(built: NodeBuilder, price: float) -> None:
    assert prices(_GPU_TABLE, built) == pytest.approx([price], nan_ok=True)


def test_a_table_without_accelerators_has_whole_machines() -> None:
    assert prices("instance_type,price\nn1-standard-4,0.54\n", accelerated("n")) == [0.54]


def test_a_machine_without_accelerators_is_no_estimate_of_one_with() -> None:
    """Nor do its cores say what an accelerator costs."""
    table = "instance_type,price\nm5.xlarge,0.2\n"
    unknown = typed("b", "g5.xlarge").resource("nvidia.com/gpu", 1)
    assert prices(table, typed("a", "m5.xlarge"), unknown)[1] != pytest.approx(0.2)
    assert math.isnan(prices(table, typed("a", "m5.xlarge"), unknown)[1])


def test_a_spot_node_with_accelerators_is_estimated_from_its_like() -> None:
    """0.34 of the on-demand price of the same type with the same accelerators: 0.54 x 0.34."""
    spot = accelerated("s", "nvidia-l4").label("karpenter.sh/capacity-type", "spot")
    peer = accelerated("a", "nvidia-l4").price(0.54)
    market = Market()
    found = market.offers([peer.build(), typed("b", "n1-standard-4").price(0.19).build(), spot.build()])
    assert found[0, 2] == pytest.approx(0.54 * 0.34)
    assert market.origins("s").price is Origin.ESTIMATED


def test_accelerators_do_not_make_a_price_implausible() -> None:
    """Three machines at $0.19 and one of the type with four accelerators at $1.59: more than three times."""
    market = Market()
    plain = [typed(f"n{at}", "n1-standard-4").price(0.19).build() for at in range(3)]
    found = market.offers([*plain, accelerated("g", count=4).price(1.59).build()])
    assert found[0, 3] == 1.59
    assert not market.implausible()


@pytest.mark.parametrize(
    ("requests", "gpu_node", "plain_node"),
    [
        pytest.param({"cpu": "500m"}, 0.5 / 4 * 0.54, 0.5 / 4 * 0.19, id="by cores, at the node's price"),
        pytest.param({"cpu": "500m", "nvidia.com/gpu": "1"}, 0.54, 0.19, id="the only one: the whole node"),
    ],
)
def test_what_a_pod_costs(requests: dict[str, str], gpu_node: float, plain_node: float) -> None:
    cache = Cache(Market(table=PriceTable(csv_rows(_GPU_TABLE))).offer_of)
    for built in (accelerated("a"), typed("b", "n1-standard-4")):
        cache.apply_node(built.build())
    nodes = cache.snapshot().nodes
    assert pod_cost(pod("p").requests(**requests).build(), nodes).tolist() == pytest.approx(
        [gpu_node, plain_node]
    )


def test_a_pod_with_an_accelerator_pays_its_share_of_them() -> None:
    """One of four, of 0.19 + 4 x 0.35: a quarter of $1.59. Half a core alone is an eighth of it."""
    cache = Cache(Market(table=PriceTable(csv_rows(_GPU_TABLE))).offer_of)
    cache.apply_node(accelerated("a", count=4).build())
    nodes = cache.snapshot().nodes
    with_one = pod("p").requests(**{"cpu": "500m", "nvidia.com/gpu": "1"})
    assert pod_cost(with_one.build(), nodes).tolist() == pytest.approx([1.59 / 4])
    assert pod_cost(pod("q").requests(cpu="500m").build(), nodes).tolist() == pytest.approx([1.59 / 8])


_kinds = st.builds(
    Kind,
    st.sampled_from(["", "x", "y"]),
    st.sampled_from(["spot", "on-demand"]),
    st.builds(Shape, st.sampled_from([2000, 4000]), st.just(0), st.just(())),
    st.sampled_from(["linux", "windows"]),
    st.sampled_from([None, Attached("t4", 1)]),
)


@given(st.lists(st.tuples(_kinds, st.floats(0.01, 100)), max_size=12), _kinds)
def test_no_estimate_crosses(known: list[tuple[Kind, float]], kind: Kind) -> None:
    """The same comes out without the nodes of the other system, and of other accelerators."""
    alike = [each for each in known if (each[0].os, each[0].attached) == (kind.os, kind.attached)]
    ratio = Estimates((each, np.array([price])) for each, price in known).ratio
    found = Estimates((each, np.array([price])) for each, price in known).price(kind)
    alone = Estimates(((each, np.array([price])) for each, price in alike), ratio)
    if alone.ratio == ratio:
        assert found == pytest.approx(alone.price(kind), nan_ok=True)
    else:
        assert math.isnan(found) == math.isnan(alone.price(kind))
