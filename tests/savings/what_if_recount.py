"""The figures of `tradewind what-if -o json` once more, from the raw objects and with none of its code."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.savings.recount import Object, Recount

_OWN = {"DaemonSet", "Node"}


def wrong(
    objects: Sequence[Object],
    told: Mapping[str, Any],
    gone: Callable[[Object], bool],
    prices: Mapping[str, float] | None,
) -> list[str]:
    """What is not as it should be once these nodes are gone; `prices` are those of then, by node."""
    lost = {each["metadata"]["name"] for each in objects if each["kind"] == "Node" and gone(each)}
    left = [each for each in map(copy.deepcopy, objects) if not _goes(each, lost)]
    for each in left:
        if each["kind"] == "Pod" and each["spec"].get("nodeName") in lost:
            del each["spec"]["nodeName"]
    placed = told["then"]["placements"]
    recount = Recount(left, {"emptied": [], "placements": placed})
    return [*recount.misplaced(), *_pods(recount, told, lost), *_money(recount, told, prices)]


def _goes(obj: Object, lost: set[str]) -> bool:
    if obj["kind"] == "Node":
        return obj["metadata"]["name"] in lost
    owners = obj["metadata"].get("ownerReferences") or [{}]
    own = obj["kind"] == "Pod" and owners[0].get("kind") in _OWN
    return own and obj["spec"].get("nodeName") in lost


def _pods(recount: Recount, told: Mapping[str, Any], lost: set[str]) -> Iterable[str]:
    placed, unplaced = told["then"]["placements"], told["then"]["unplaced"]
    for name, at in recount.before.items():
        if (name in placed) == (name in unplaced) and not recount.of_node(name):
            yield f"{name} is both placed and not, or neither"
        if at and placed.get(name, at) != at:
            yield f"{name} was moved, and its node is still there"
    if lost & set(placed.values()):
        yield "a pod is on a node that is gone"
    for name, each in told["elsewhere"].items():
        if (each["then"] or "") != placed.get(name, ""):
            yield f"{name} is elsewhere than it is said to be"
    moved = {
        name
        for name in {*told["now"]["placements"], *placed}
        if told["now"]["placements"].get(name) != placed.get(name)
    }
    if moved != set(told["elsewhere"]):
        yield "not all that are elsewhere are named"


def _money(recount: Recount, told: Mapping[str, Any], prices: Mapping[str, float] | None) -> Iterable[str]:
    then = told["then"]
    used = set(then["placements"].values())
    if (then["nodes"], then["nodesInUse"]) != (len(recount.nodes), len(used)):
        yield f"{then['nodes']} nodes, {then['nodesInUse']} in use; not {len(recount.nodes)}, {len(used)}"
    if prices is None:
        if then["hourlyCost"] is not None:
            yield "dollars without prices"
        return
    for figure, names in (("hourlyCost", recount.nodes), ("hourlyCostInUse", used)):
        amount = sum(prices[name] for name in names)
        if abs(then[figure] - amount) > 1e-5:
            yield f"{figure}: {then[figure]}, not {amount}"
