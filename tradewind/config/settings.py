"""The configuration in force: read at the start, followed when it changes, never replaced by a broken one."""

import logging
from collections.abc import Callable
from pathlib import Path

from scoring.policy import Policy
from tradewind.cluster.objects import Pod
from tradewind.config import document as config
from tradewind.config.classes import Policies
from tradewind.config.metrics import ConfigMetrics
from tradewind.errors import ConfigurationError
from tradewind.kube.mounts import Watched

_log = logging.getLogger(__name__)


class Settings:
    def __init__(
        self,
        given: Path | config.Document | None,
        metrics: ConfigMetrics,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Raise ConfigurationError if the document is broken: at the start there is no last good one.

        `on_change` is called when a new document may give a pod a place that had none.
        """
        self._path = path = given if isinstance(given, Path) else None
        self._metrics = metrics
        self._on_change = on_change
        self._watched = Watched([path] if path else [])
        self.version = 0  # of the document in force
        document = config.read(given) if isinstance(given, Path) else given or config.DEFAULT
        self.stale_seconds = document.stale_seconds  # of the start: the watches are set up by it
        self._take(document)

    def policy_of(self, pod: Pod) -> Policy:
        return self._policies.of(pod)

    @property
    def policies(self) -> Policies:
        """In force; replaced, never changed."""
        return self._policies

    def _take(self, document: config.Document) -> None:
        self.document = document
        self._policies = document.policies()
        self.version += 1
        self.shadow = document.shadow  # nothing may be advised, planned, evicted or annotated
        self.recheck = document.recheck
        self.extender_weight = document.extender_weight
        self.market = document.market
        self.planner = document.planner
        self.fleet = document.fleet

    def refresh(self, on_refused: Callable[[str], None]) -> None:
        if self._path is None or not self._watched.changed():
            return
        before = self._policies.conditions(), self.planner, self.shadow
        try:
            self._take(config.read(self._path))
        except ConfigurationError as error:
            self._metrics.reloads.labels("refused").inc()
            self._metrics.ok.set(0)
            _log.error("configuration refused, the previous one stays in force: %s", error)
            on_refused(str(error))
            return
        self._metrics.reloads.labels("taken").inc()
        self._metrics.ok.set(1)
        _log.info("configuration taken from %s", self._path)
        if before != (self._policies.conditions(), self.planner, self.shadow):
            self._on_change()
