"""ResourceBindings and ClusterResourceBindings as one: the latter have no namespace."""

from collections.abc import Callable

from tradewind.hub import wire
from tradewind.hub.mirror import Mirror
from tradewind.hub.records import Binding, binding_of
from tradewind.kube.watch import Resource


class Bindings:
    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self.namespaced: Mirror[Binding] = Mirror(wake)
        self.cluster_wide: Mirror[Binding] = Mirror(wake)

    def _of(self, key: str) -> Mirror[Binding]:
        return self.namespaced if "/" in key else self.cluster_wide

    def get(self, key: str) -> Binding | None:
        return self._of(key).get(key)

    def all(self) -> list[Binding]:
        return [*self.namespaced.all(), *self.cluster_wide.all()]

    def take_changed(self) -> set[str]:
        return self.namespaced.take_changed() | self.cluster_wide.take_changed()

    def apply(self, binding: Binding) -> None:
        self._of(binding.key).apply(binding)

    def remove(self, key: str) -> None:
        self._of(key).remove(key)

    def resources(self) -> tuple[Resource, ...]:
        mirrors = {"resourcebindings": self.namespaced, "clusterresourcebindings": self.cluster_wide}
        return tuple(
            mirror.resource(name, f"{wire.BINDINGS}/{name}", wire.BindingObject, binding_of)
            for name, mirror in mirrors.items()
        )
