"""A member tells the hub about itself: one ConfigMap, written upon changes and as a sign of life."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from tradewind.cluster.cache import Cache
from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.errors import ApiError, NotFoundError, TradewindError
from tradewind.fleet.error_rate import ErrorRate
from tradewind.fleet.settings import SiteSettings
from tradewind.fleet.summarise import DEFAULT_LABELS, summarise
from tradewind.fleet.summary import Summary, encode
from tradewind.kube.access import connect
from tradewind.kube.client import Client

_log = logging.getLogger(__name__)


class SitePublisher:
    def __init__(
        self, cache: Cache, hub: Client, namespace: str, settings: Callable[[], SiteSettings]
    ) -> None:
        """`settings` are those in force: a member may be told where it is while it runs."""
        self._cache = cache
        self._hub = hub
        self._maps = f"/api/v1/namespaces/{namespace}/configmaps"
        self._namespace = namespace
        self._settings = settings
        self._error_rate = ErrorRate()
        self._shown: tuple[object, ...] = ()
        self._published = 0.0
        self._dropped: dict[str, int] = {}
        self.trouble = ""

    def run(self) -> None:
        """Publish if it is time to."""
        settings, now = self._settings(), time.time()
        if now - self._published < settings.publish_seconds:
            return
        waiting = self._cache.waiting()
        rate = round(self._error_rate.observe((pod.uid for pod in waiting), now), 3)
        by_workload = Counter(pod.workload for pod in waiting if pod.workload)
        snapshot = self._cache.snapshot()
        shown = (snapshot.generation, rate, tuple(sorted(by_workload.items())), settings)
        if shown == self._shown and now - self._published < settings.heartbeat_seconds:
            return
        summary = summarise(
            snapshot,
            settings.name,
            settings.place(),
            time=now,
            best=settings.best_nodes,
            labels=(*DEFAULT_LABELS, *settings.labels),
            error_rate=rate,
            waiting=by_workload,
        )
        try:
            self._write(summary)
        except ApiError as error:
            self.trouble = str(error)
            _log.warning("the summary of site %s could not be published: %s", settings.name, error)
            return
        self._shown, self._published, self.trouble = shown, now, ""
        if summary.dropped != self._dropped:
            self._dropped = summary.dropped
            left_out = ", ".join(f"{count:,} {what}" for what, count in summary.dropped.items())
            _log.warning(
                "The summary of site %s is over its limits; left out: %s",
                settings.name,
                left_out or "nothing",
            )

    def _write(self, summary: Summary) -> None:
        name = f"site-{summary.site}"
        data = {"summary": encode(summary)}
        try:
            self._hub.patch(f"{self._maps}/{name}", {"data": data})
        except NotFoundError:
            metadata: Mapping[str, object] = {
                "name": name,
                "labels": {ANNOTATION_PREFIX + "fleet": "summary"},
                "annotations": {ANNOTATION_PREFIX + "site": summary.site},
            }
            self._hub.create(self._maps, {"metadata": metadata, "data": data})


def publisher(
    cache: Cache, hub_kubeconfig: Path, namespace: str, settings: Callable[[], SiteSettings]
) -> SitePublisher:
    """Raise TradewindError for a hub that cannot be reached, or a site without a name."""
    if not settings().name:
        raise TradewindError("fleet.site.name: the configuration must say what the hub calls this cluster")
    connected = connect(hub_kubeconfig)
    if connected is None:
        raise TradewindError(f"{hub_kubeconfig} names no cluster to be the hub")
    return SitePublisher(cache, Client(connected[1]), namespace, settings)
