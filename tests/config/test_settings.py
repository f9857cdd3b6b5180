import os
from pathlib import Path

import pytest

from tests.builders import pod
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.errors import ConfigurationError

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


class Mounted:
    """A file in a directory that is swapped as the kubelet swaps a mounted ConfigMap."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._generation = 0
        self.path = root / "config.yaml"
        self.path.symlink_to(root / "..data" / "config.yaml")

    def write(self, text: str) -> None:
        self._generation += 1
        directory = self._root / f"..{self._generation}"
        directory.mkdir()
        (directory / "config.yaml").write_text(text)
        link = self._root / "..new"
        link.symlink_to(directory.name)
        os.replace(link, self._root / "..data")  # noqa: PTH105  atomic, as the kubelet does it


def price_weight(settings: Settings) -> float:
    return {rule.name: weight for rule, weight in settings.policy_of(pod("w").build()).scorers}["price"]


def test_a_changed_document_takes_effect_and_a_broken_one_does_not(tmp_path: Path) -> None:
    mounted, metrics, refused = Mounted(tmp_path), ConfigMetrics(), list[str]()
    mounted.write(_HEAD + "weights: {price: 3}")
    settings = Settings(mounted.path, metrics)
    assert price_weight(settings) == 3

    mounted.write(_HEAD + "weights: {price: 4}")
    settings.refresh(refused.append)
    assert price_weight(settings) == 4

    mounted.write(_HEAD + "weights: {price: -1}")
    settings.refresh(refused.append)
    settings.refresh(refused.append)
    assert price_weight(settings) == 4
    assert len(refused) == 1
    assert "weights.price" in refused[0]
    assert str(mounted.path) in refused[0]
    assert metrics.registry.get_sample_value("tradewind_config_ok") == 0

    mounted.write(_HEAD + "weights: {price: 5}")
    settings.refresh(refused.append)
    assert price_weight(settings) == 5
    assert metrics.registry.get_sample_value("tradewind_config_ok") == 1
    assert metrics.registry.get_sample_value("tradewind_config_reloads_total", {"result": "taken"}) == 2


_FLOOR = _HEAD + "rules: {durable_floor: {share: 0.5}}\nclasses: [{name: a, match: {minPriority: 5}}]\n"


@pytest.mark.parametrize(
    ("after", "told"),
    [
        pytest.param(_FLOOR.replace("0.5", "0.2"), 1, id="a lower floor"),
        pytest.param(_FLOOR.replace("minPriority", "maxPriority"), 1, id="other pods of a class"),
        pytest.param(_FLOOR + "planner: {schedulers: [mine]}", 1, id="another planner"),
        pytest.param(_FLOOR + "weights: {price: 9}", 0, id="another taste only"),
        pytest.param(_FLOOR + "market: {priors: {spot: 0.5}}", 0, id="other prices only"),
        pytest.param(_FLOOR + "weights: {price: -9}", 0, id="a broken document"),
    ],
)
def test_what_may_give_a_pod_a_place_is_told(tmp_path: Path, after: str, told: int) -> None:
    mounted, calls = Mounted(tmp_path), list[None]()
    mounted.write(_FLOOR)
    settings = Settings(mounted.path, ConfigMetrics(), on_change=lambda: calls.append(None))
    mounted.write(after)
    settings.refresh(lambda _: None)
    settings.refresh(lambda _: None)
    assert len(calls) == told


def test_a_deleted_document_leaves_the_last_one_in_force(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(_HEAD + "weights: {price: 3}")
    settings = Settings(path, ConfigMetrics())
    path.unlink()
    settings.refresh(lambda _: None)
    assert price_weight(settings) == 3


def test_a_broken_document_at_the_start_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("{}")
    with pytest.raises(ConfigurationError, match="apiVersion"):
        Settings(path, ConfigMetrics())


def test_without_a_document_the_defaults_hold() -> None:
    settings = Settings(None, ConfigMetrics())
    settings.refresh(lambda _: None)
    assert price_weight(settings) == 2
