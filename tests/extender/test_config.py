import pytest

from cluster.errors import ConfigurationError
from extender import config

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


def weights(text: str) -> dict[str, float]:
    return {rule.name: weight for rule, weight in config.parse(_HEAD + text).policy().scorers}


def test_an_empty_document_means_the_defaults() -> None:
    assert weights("") == {"resource_fit": 1.0, "price": 2.0}


def test_names_and_letters_mean_the_same() -> None:
    assert (
        weights("weights: {price: 7}")
        == weights("weights: {delta: 7}")
        == {"resource_fit": 1.0, "price": 7.0}
    )


def test_a_filter_can_be_switched_off() -> None:
    assert [rule.name for rule in config.parse(_HEAD).policy().filters] == ["resources"]
    assert config.parse(_HEAD + "rules: {resources: {enabled: false}}").policy().filters == ()


def test_a_rule_takes_its_fields_as_parameters() -> None:
    policy = config.parse(_HEAD + "rules: {resource_fit: {resources: [memory]}}").policy()
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
        pytest.param(_HEAD + "wieghts: {}", "wieghts: Extra inputs are not permitted", id="unknown key"),
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
            _HEAD + "rules: {price: {enabled: false}}", "enabled", id="a scorer has a weight, no switch"
        ),
        pytest.param(
            _HEAD + "rules: {resource_fit: {resources: 3}}", "resource_fit.resources", id="wrong type"
        ),
    ],
)
def test_a_broken_document_is_refused_with_path_and_reason(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.parse(text)
    assert message in str(caught.value)
