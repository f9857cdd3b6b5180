"""The guide as an object of the cluster: read before each write, so that whatever became of it is mended.

Written only if it would say something else, or before it gets too old to be followed. The journal of the
batches travels with it.
"""

import logging
import time
from collections.abc import Callable

from tradewind.cluster.guide import CONFIG_MAP, JOURNAL_KEY, KEY, Guide, GuideError, decode, encode
from tradewind.controller.metrics import StandingMetrics
from tradewind.errors import ApiError, ConflictError
from tradewind.kube.client import Client
from tradewind.kube.config_map import ConfigMap
from tradewind.planner.journal import Journal

# Beyond what the guide needs, so long passes between two writes for the journal.
_JOURNAL_SECONDS = 10.0

_log = logging.getLogger(__name__)


class GuidePublisher:
    def __init__(
        self,
        client: Client,
        namespace: str,
        metrics: StandingMetrics,
        permitted: Callable[[], bool],
        journal: Journal | None = None,
    ) -> None:
        """`permitted` is asked right before each write."""
        self._config_map = ConfigMap(client, namespace, CONFIG_MAP)
        self._metrics = metrics
        self._permitted = permitted
        self._journal = journal or Journal()
        self._written = ""  # what the object says of the journal
        self._trouble = ""

    def needed(self) -> frozenset[str]:
        """The nodes that the published guide needs; none where there is no such guide."""
        try:
            published = self._read()
            self._journal.resume(self._written)
        except ApiError as error:
            _log.warning("the standing plan begins without the guide of before: %s", error)
            return frozenset()
        return frozenset(published.needed()) if published else frozenset()

    def publish(self, guide: Guide) -> None:
        outcome, trouble = self._publish(guide)
        self._metrics.guide_writes.labels(outcome).inc()
        if trouble and trouble != self._trouble:
            _log.warning("the guide was not written: %s", trouble)
        self._trouble = trouble

    def _read(self) -> Guide | None:
        """What is published, if it can be read and is not too old."""
        data = self._config_map.read()
        self._written = (data or {}).get(JOURNAL_KEY, "")
        if data is None:
            return None
        try:
            guide = decode(data.get(KEY, ""))
        except GuideError as error:
            _log.warning("%s is replaced: %s", self._config_map, error)
            return None
        return guide if time.time() < guide.until else None

    def _due(self, published: Guide, guide: Guide, journal: str) -> bool:
        waited = guide.solved_at - published.solved_at >= _JOURNAL_SECONDS
        return not _lasts(published, guide) or (waited and journal != self._written)

    def _publish(self, guide: Guide) -> tuple[str, str]:
        """What became of it, and why not."""
        try:
            published = self._read()
            journal = self._journal.encoded()
            if published is not None and not self._due(published, guide, journal):
                return "unchanged", ""
            if not self._permitted():
                return "refused", "another leads"
            self._config_map.write({KEY: encode(guide), JOURNAL_KEY: journal})
        except GuideError as error:
            return "too large", str(error)
        except ConflictError as error:
            return "conflict", str(error)
        except ApiError as error:
            return "failed", str(error)
        _log.debug("the guide says: %s", guide.counts())
        return "written", ""


def _lasts(published: Guide, guide: Guide) -> bool:
    """Whether it says the same, and two thirds of its life are left: enough for the next leader to come."""
    third = (guide.until - guide.solved_at) / 3
    return guide.solved_at - published.solved_at < third and guide.says_the_same_as(published)
