import pytest

from scoring.filters.disk_type import DiskType
from scoring.filters.durable_floor import DurableFloor
from scoring.filters.limits import Limits
from scoring.policy import PREFERENCES, Policy
from tests.builders import PodBuilder, cluster_of, node, pod
from tradewind.config import document as config
from tradewind.config.classes import CLASS
from tradewind.errors import ConfigurationError

_LETTERS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota"]
_DEFAULTS = {
    "resource_fit": 1.0,
    "disk_type": 1.0,
    "network_type": 1.0,
    "price": 2.0,
    "stability": 1.0,
    "workload_priority": 1.0,
    "equivalence": 0.5,
    "guide": 3.0,
    "history": 0.0,
}
_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


def weights(text: str) -> dict[str, float]:
    return {rule.name: weight for rule, weight in config.parse(_HEAD + text).policies().default.scorers}


def test_an_empty_document_means_the_defaults() -> None:
    assert weights("") == _DEFAULTS


def test_names_and_letters_mean_the_same() -> None:
    assert weights("weights: {price: 7}") == weights("weights: {delta: 7}") == _DEFAULTS | {"price": 7.0}


@pytest.mark.parametrize(("letter", "name"), list(zip(_LETTERS, _DEFAULTS, strict=True)))
def test_every_letter_has_its_scorer(letter: str, name: str) -> None:
    assert weights(f"weights: {{{letter}: 9}}")[name] == 9


def test_a_filter_can_be_switched_off() -> None:
    def filters(text: str) -> list[str]:
        return [rule.name for rule in config.parse(_HEAD + text).policies().default.filters]

    assert filters("rules: {limits: {enabled: false}}") == [name for name in filters("") if name != "limits"]


def test_a_rule_that_filters_and_scores_has_one_set_of_parameters() -> None:
    text = "rules: {disk_type: {labels: [disk], policy: preferred, enabled: false}}"
    policy = config.parse(_HEAD + text).policies().default
    assert (DiskType(labels=("disk",), policy="preferred"), 1.0) in policy.scorers
    assert not any(isinstance(rule, DiskType) for rule in policy.filters)


@pytest.mark.parametrize("preset", ["cost", "balanced", "availability"])
def test_no_preset_checks_limits(preset: str) -> None:
    """Request 256Mi, limit 8Gi: no m5.large has that, and no autoscaler would bring a larger one."""
    policy = config.parse(f"{_HEAD}preset: {preset}").policies().default
    nodes = cluster_of(node(f"m5-large-{i}").cpu("2").memory("7Gi") for i in range(4)).nodes
    wanted = pod("w").requests(memory="256Mi").limits(cpu="4", memory="8Gi").build()
    assert policy.filter(wanted, nodes).feasible.all()


@pytest.mark.parametrize("written", ["off", "'off'", "false"])
def test_overcommit_can_be_off(written: str) -> None:
    policy = (
        config.parse(_HEAD + f"rules: {{limits: {{overcommit: {{memory: {written}}}}}}}").policies().default
    )
    limits = next(rule for rule in policy.filters if isinstance(rule, Limits))
    assert limits.overcommit["memory"] in {"off", False}


def test_a_preset_is_below_what_the_document_says() -> None:
    assert weights("preset: cost")["price"] == 6
    assert weights("preset: cost\nweights: {price: 9}")["price"] == 9
    assert weights("preset: cost\nweights: {price: 9}")["resource_fit"] == 2
    assert weights("preset: balanced") == _DEFAULTS


@pytest.mark.parametrize("name", ["cost", "balanced", "availability"])
def test_every_preset_is_shipped_and_valid(name: str) -> None:
    assert weights(f"preset: {name}").keys() == _DEFAULTS.keys()


_CLASSES = """
preset: availability
weights: {price: 5}
classes:
  - name: critical
    match: {namespaces: [shop], labels: "tier in (web, db), !legacy", minPriority: 1000}
    weights: {stability: 9}
    rules: {durable_floor: {min: 2}}
  - name: batch
    match: {priorityClasses: [batch]}
    preset: cost
  - name: manual
"""


def class_of(wanted: PodBuilder) -> Policy:
    return config.parse(_HEAD + _CLASSES).policies().of(wanted.build())


_CRITICAL = pod("w").namespace("shop").label("tier", "db").priority(1000)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(_CRITICAL, "critical", id="all that the match names holds"),
        pytest.param(_CRITICAL.namespace("other"), "default", id="another namespace"),
        pytest.param(_CRITICAL.priority(999), "default", id="a lower priority"),
        pytest.param(_CRITICAL.label("tier", "cache"), "default", id="another label"),
        pytest.param(_CRITICAL.label("legacy", "1"), "default", id="a label that must not be there"),
        pytest.param(
            pod("w").field("spec", "priorityClassName", value="batch"), "batch", id="priority class"
        ),
        pytest.param(pod("w").annotation(CLASS, "manual"), "manual", id="by annotation alone"),
        pytest.param(_CRITICAL.annotation(CLASS, "batch"), "batch", id="the annotation goes first"),
        pytest.param(_CRITICAL.annotation(CLASS, "no-such"), "critical", id="an unknown name is no choice"),
    ],
)
def test_the_class_of_a_pod(wanted: PodBuilder, expected: str) -> None:
    assert class_of(wanted).workload_class == expected


def test_a_class_is_laid_over_the_document_and_its_preset() -> None:
    critical, batch = class_of(_CRITICAL), class_of(pod("w").annotation(CLASS, "batch"))
    assert {rule.name: weight for rule, weight in critical.scorers}["stability"] == 9
    assert {rule.name: weight for rule, weight in critical.scorers}["price"] == 5
    assert DurableFloor(min=2, share=0.5) in critical.filters
    assert {rule.name: weight for rule, weight in batch.scorers}["price"] == 6


def test_the_guide_does_not_drive_pods_together_that_are_to_be_spread() -> None:
    policies = config.parse(
        _HEAD
        + "classes: [{name: apart, match: {labels: a}, placement: spread}, {name: close, match: {labels: b}}]"
    ).policies()
    for policy, weight in zip(policies.all(), (3.0, 0.0, 3.0), strict=True):
        assert {rule.name: each for rule, each in policy.scorers}["guide"] == weight


def test_a_rule_takes_its_fields_as_parameters() -> None:
    policy = config.parse(_HEAD + "rules: {resource_fit: {resources: [memory]}}").policies().default
    assert policy.scorers[0][0] == config._SCORERS["resource_fit"](resources=("memory",))  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "not YAML", id="not YAML"),
        pytest.param("- 1", "not a YAML mapping", id="a list"),
        pytest.param("", "not a YAML mapping", id="nothing"),
        pytest.param("kind: TradewindConfiguration", "apiVersion: Field required", id="no version"),
        pytest.param(
            "apiVersion: tradewind.dev/v2\nkind: TradewindConfiguration",
            "apiVersion: Input should be",
            id="version",
        ),
        pytest.param(_HEAD + "wieghts: {}", "wieghts: unknown key", id="unknown key"),
        pytest.param(_HEAD + "weights: {price: -1}", "weights.price: ", id="negative"),
        pytest.param(_HEAD + "weights: {price: .nan}", "weights.price: ", id="not a number"),
        pytest.param(_HEAD + "weights: {price: .inf}", "weights.price: ", id="infinite"),
        pytest.param(_HEAD + "weights: {price: much}", "weights.price: ", id="a word"),
        pytest.param(_HEAD + "weights: {omega: 1}", 'unknown key "omega"', id="unknown letter"),
        pytest.param(
            _HEAD + "weights: {price: 1, delta: 2}", '"delta" gives the weight of "price"', id="twice"
        ),
        pytest.param(_HEAD + "rules: {prize: {}}", 'unknown key "prize"', id="unknown rule"),
        pytest.param(_HEAD + "rules: {price: {x: 1}}", 'unknown key "x" of price', id="unknown parameter"),
        pytest.param(_HEAD + "rules: {resources: {enabled: maybe}}", "rules", id="neither on nor off"),
        pytest.param(
            _HEAD + "rules: {limits: {overcommit: {cpu: 0}}}", "overcommit.cpu", id="overcommit of nothing"
        ),
        pytest.param(
            _HEAD + "rules: {durable_floor: {share: 2}}", "durable_floor.", id="more than all replicas"
        ),
        pytest.param(_HEAD + "rules: {disk_type: {policy: maybe}}", "disk_type.policy", id="no such policy"),
        pytest.param(_HEAD + "rules: {price: {formula: best}}", "price.formula", id="no such formula"),
        pytest.param(_HEAD + "preset: free", "preset: ", id="no such preset"),
        pytest.param(
            _HEAD + "classes: [{name: a, match: {labels: 'a in b'}}]",
            "classes.0.match.labels: ",
            id="a label",
        ),
        pytest.param(
            _HEAD + "classes: [{name: a, match: {}}]", "classes.0.match: give namespaces", id="no match"
        ),
        pytest.param(_HEAD + "classes: [{name: a}, {name: a}]", '"a" is the name of another', id="same name"),
        pytest.param(_HEAD + "classes: [{name: default}]", '"default" is the name', id="a reserved name"),
        pytest.param(_HEAD + "classes: [{match: {minPriority: 1}}]", "classes.0.name", id="no name"),
        pytest.param(
            _HEAD + "rules: {price: {enabled: false}}", "enabled", id="a scorer has a weight, no switch"
        ),
        pytest.param(
            _HEAD + "rules: {resource_fit: {resources: 3}}", "resource_fit.resources", id="wrong type"
        ),
        pytest.param(_HEAD + "planner: {batch: {pods: 0}}", "planner.batch.pods: ", id="no pods"),
        pytest.param(_HEAD + "planner: {holdSeconds: .inf}", "planner.holdSeconds: ", id="for ever"),
        pytest.param(
            _HEAD + "planner: {pools: [{name: big, resources: {cpu: 4 cores}, price: 1}]}",
            "planner.pools.0.resources: cpu: not a quantity",
            id="a pool's quantity",
        ),
        pytest.param(
            _HEAD + "planner: {pools: [" + 2 * "{name: big, resources: {cpu: 4}, price: 1}, " + "]}",
            '"big" is the name of another pool',
            id="two pools of one name",
        ),
    ],
)
def test_a_broken_document_is_refused_with_path_and_reason(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("key", ["preferences", "kappa"])
def test_what_users_prefer_has_a_weight_that_is_no_scorers(key: str) -> None:
    policies = config.parse(
        f"{_HEAD}weights: {{{key}: 3}}\nclasses: [{{name: a, weights: {{{key}: 0}}}}]\n"
    ).policies()
    assert (policies.default.preferences, policies.all()[1].preferences) == (3, 0)
    assert all(rule.name != "preferences" for rule, _ in policies.default.scorers)
    assert config.parse(_HEAD).policies().default.preferences == PREFERENCES
