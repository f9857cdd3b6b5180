"""Which pods belong to which workload class, and the policy of each."""

from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from scoring.policy import Policy
from scoring.rules import Filter
from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import matches, parse_selector

CLASS = ANNOTATION_PREFIX + "workload-class"


def _parsed(text: str) -> str:
    parse_selector(text)
    return text


class Match(BaseModel):
    """All that is given must hold; of a list, one."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    namespaces: frozenset[str] | None = None
    labels: Annotated[str, AfterValidator(_parsed)] | None = None
    priority_classes: frozenset[str] | None = Field(default=None, alias="priorityClasses")
    min_priority: int | None = Field(default=None, alias="minPriority")
    max_priority: int | None = Field(default=None, alias="maxPriority")

    @model_validator(mode="before")
    @classmethod
    def _not_empty(cls, data: Any) -> Any:
        if not data:
            raise ValueError("give namespaces, labels, priorityClasses, minPriority or maxPriority")
        return data

    @model_validator(mode="after")
    def _possible(self) -> Self:
        low, high = self.min_priority, self.max_priority
        if low is not None and high is not None and low > high:
            raise ValueError(f"minPriority {low} is above maxPriority {high}: no pod would match")
        return self

    def takes(self, pod: Pod) -> bool:
        return (
            (self.namespaces is None or pod.namespace in self.namespaces)
            and (self.labels is None or matches(parse_selector(self.labels), pod.labels))
            and (self.priority_classes is None or pod.priority_class in self.priority_classes)
            and (self.min_priority is None or pod.priority >= self.min_priority)
            and (self.max_priority is None or pod.priority <= self.max_priority)
        )


@dataclass(frozen=True)
class Policies:
    """The policy of each class, in the order in which they are tried."""

    default: Policy
    classes: tuple[tuple[Match | None, Policy], ...] = ()

    def of(self, pod: Pod) -> Policy:
        """The class that the pod's annotation names, else the first that takes it, else the default."""
        named = pod.annotations.get(CLASS)
        for _, policy in self.classes:
            if policy.workload_class == named:
                return policy
        for match, policy in self.classes:
            if match is not None and match.takes(pod):
                return policy
        return self.default

    def conditions(self) -> tuple[tuple[Match | None, str, tuple[Filter, ...]], ...]:
        """All that decides whether a pod may go somewhere, and nothing that decides where it goes best."""
        everyone = (None, self.default)
        return tuple(
            (match, policy.workload_class, policy.filters) for match, policy in (everyone, *self.classes)
        )

    def all(self) -> tuple[Policy, ...]:
        return (self.default, *(policy for _, policy in self.classes))
