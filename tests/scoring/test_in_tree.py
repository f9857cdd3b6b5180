"""The rules that kube-scheduler has too, on drawn clusters, against their plain definitions."""

from hypothesis import given, settings

from scoring.filters.taints import Taints
from scoring.filters.topology_spread import TopologySpread
from scoring.in_tree import IN_TREE
from scoring.rules import Filter
from tests.scoring import naive
from tests.scoring.drawn import UNHURRIED, Case, cases, crowded_cases

_rules: list[Filter] = [rule() for rule in IN_TREE if rule.name in naive.RULES]
_with_comparisons: list[Filter] = [Taints(comparisons=True), TopologySpread(comparisons=True)]


def test_every_rule_has_a_definition_but_sums_and_what_volumes_ask_for() -> None:
    assert {rule.name for rule in IN_TREE} == {*naive.RULES, "resources", "volume_affinity"}


@given(case=cases())
@settings(UNHURRIED, max_examples=300)
def test_each_rule_is_its_definition(case: Case) -> None:
    world = _world(case, comparisons=False)
    assert _ours(_rules, case) == {rule.name: _by_definition(rule.name, world, case) for rule in _rules}


@given(case=crowded_cases())
@settings(UNHURRIED, max_examples=300)
def test_spread_is_its_definition_where_pods_are_many(case: Case) -> None:
    expected = {"topology_spread": _by_definition("topology_spread", _world(case, comparisons=False), case)}
    assert _ours([TopologySpread()], case) == expected


@given(case=cases())
@settings(UNHURRIED, max_examples=100)
def test_each_rule_with_comparisons_is_its_definition(case: Case) -> None:
    world = _world(case, comparisons=True)
    expected = {rule.name: _by_definition(rule.name, world, case) for rule in _with_comparisons}
    assert _ours(_with_comparisons, case) == expected


def _ours(rules: list[Filter], case: Case) -> dict[str, list[str]]:
    wanted, nodes = case.build()
    return {
        rule.name: [
            name for name, passed in zip(nodes.names, rule.feasible(wanted, nodes), strict=True) if passed
        ]
        for rule in rules
    }


def _by_definition(rule: str, world: naive.World, case: Case) -> list[str]:
    passes = naive.RULES[rule]
    return [node["metadata"]["name"] for node in world.nodes if passes(world, case.wanted.document, node)]


def _world(case: Case, *, comparisons: bool) -> naive.World:
    return naive.World(
        nodes=[node.document for node in case.nodes],
        pods=[pod.document for pod in case.placed],
        namespaces={
            namespace.document["metadata"]["name"]: namespace.document["metadata"]["labels"]
            for namespace in case.namespaces
        },
        comparisons=comparisons,
    )
