"""Keeps us in step with a live cluster: a list and a watch for each resource, each in its own thread."""

import logging
import threading
from collections.abc import Iterable
from operator import attrgetter

from tradewind.cluster.cache import Cache
from tradewind.cluster.finished import finished_pod
from tradewind.cluster.objects import namespace_of, node_of, pod_of, read_namespace, read_node, read_pod
from tradewind.cluster.wire import NamespaceObject, NodeObject, PodObject
from tradewind.kube.access import ApiClient
from tradewind.kube.clock import ServerClock
from tradewind.kube.streams import Streams
from tradewind.kube.watch import Pace, Resource, Watch

_log = logging.getLogger(__name__)

# A pod that has ended takes nothing from its node; one that ends while it is watched comes as DELETED.
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
# Those that ended on a node: selectors can exclude phases, but not list them.
_FINISHED = "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown,spec.nodeName!="

_JOIN_SECONDS = 10.0


class Reflector:
    """Resources of the cluster that a client is configured for."""

    def __init__(self, api: ApiClient, resources: Iterable[Resource], pace: Pace | None = None) -> None:
        pace = pace or Pace()
        self._stop = threading.Event()
        self._streams = Streams(api)
        self.watches = tuple(Watch(resource, self._streams, pace, self._stop) for resource in resources)
        self._threads = [
            threading.Thread(target=watch.run, name=f"watch-{watch.name}", daemon=True)
            for watch in self.watches
        ]

    @property
    def synced(self) -> bool:
        """Whether everything was listed once."""
        return all(watch.listed.is_set() for watch in self.watches)

    @property
    def clock(self) -> ServerClock:
        """Of the server that is watched."""
        return self._streams.clock

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._streams.close()
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
            if thread.is_alive():
                _log.warning("%s does not end; it is left behind", thread.name)


def cluster_resources(cache: Cache) -> tuple[Resource, ...]:
    """Nodes, pods and namespaces."""
    return (
        Resource(
            name="nodes",
            key=attrgetter("name"),
            read=read_node,
            kind=NodeObject,
            make=node_of,
            apply=cache.apply_node,
            remove=cache.remove_node,
            retain=cache.retain_nodes,
            batch=cache.batch,
        ),
        Resource(
            name="pods",
            key=attrgetter("uid"),
            read=read_pod,
            kind=PodObject,
            make=pod_of,
            apply=cache.apply_pod,
            remove=cache.remove_pod,
            retain=cache.retain_pods,
            batch=cache.batch,
            selection={"field_selector": _UNFINISHED},
        ),
        Resource(
            name="namespaces",
            key=attrgetter("name"),
            read=read_namespace,
            kind=NamespaceObject,
            make=namespace_of,
            apply=cache.apply_namespace,
            remove=cache.remove_namespace,
            retain=cache.retain_namespaces,
            batch=cache.batch,
        ),
    )


def finished_pods(cache: Cache) -> Resource:
    """Apart from the cluster state, which is complete without them: by these a gang was placed before."""
    return Resource(
        name="finished pods",
        path="pods",
        key=attrgetter("uid"),
        read=lambda data: finished_pod(read_pod(data)),
        kind=PodObject,
        make=lambda found: finished_pod(pod_of(found)),
        apply=cache.apply_finished,
        remove=cache.remove_finished,
        retain=cache.retain_finished,
        batch=cache.batch,
        selection={"field_selector": _FINISHED},
    )
