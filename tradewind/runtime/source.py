"""Which cluster is looked at: a live one, one from a file, or the example that comes with Tradewind."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from tradewind.cluster.budgets import Budget
from tradewind.cluster.cache import Cache
from tradewind.cluster.files import load
from tradewind.cluster.guide import Guide
from tradewind.cluster.karpenter import Provisioning
from tradewind.cluster.metrics import WatchView
from tradewind.cluster.objects import Namespace, Node, Pod
from tradewind.cluster.reflector import Reflector, cluster_resources, finished_pods
from tradewind.errors import TradewindError
from tradewind.kube.access import ApiClient, connect
from tradewind.kube.client import Client
from tradewind.kube.watch import Pace
from tradewind.runtime.provisioning import KarpenterObjects

EXAMPLES = Path(__file__).parent / "examples"


class Source(Protocol):
    """What fills a cache."""

    @property
    def name(self) -> str: ...  # for people

    @property
    def synced(self) -> bool: ...

    @property
    def api(self) -> ApiClient | None: ...

    @property
    def watches(self) -> Sequence[WatchView]: ...

    @property
    def provisioning(self) -> Provisioning: ...  # what Karpenter could add

    def now(self) -> float:
        """Seconds since 1970, by the clock that objects are created by."""

    def refresh(self) -> None:
        """Look again at what is not watched, if it is time to."""

    def attach(self, cache: Cache, stale_seconds: int) -> None:
        """A watch that is well gives a sign of life within `stale_seconds`."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class FileSource:
    """A cluster that never changes."""

    api: None = None
    watches: tuple[()] = ()

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.synced = False
        self._path = path
        self.provisioning = Provisioning()

    def now(self) -> float:
        return time.time()

    def refresh(self) -> None:
        pass

    def attach(self, cache: Cache, stale_seconds: int) -> None:
        del stale_seconds  # a file is as true as ever
        self._cache = cache

    def start(self) -> None:
        self.provisioning = load(self._path, self._cache)
        self.synced = True

    def stop(self) -> None:
        pass


class Copied(NamedTuple):
    """All that placement looks at, taken from a cluster at one moment."""

    nodes: Sequence[Node]
    pods: Sequence[Pod]
    namespaces: Sequence[Namespace]
    budgets: Sequence[Budget]
    provisioning: Provisioning
    guide: Guide | None = None
    troubles: Mapping[str, float] = {}  # of each node the share of starts that went wrong


class CopiedSource:
    """A cluster that was read before, and may have been changed since in thought."""

    api: None = None
    watches: tuple[()] = ()

    def __init__(self, name: str, copied: Copied) -> None:
        self.name = name
        self.synced = False
        self.provisioning = copied.provisioning
        self._copied = copied

    def now(self) -> float:
        return time.time()

    def refresh(self) -> None:
        pass

    def attach(self, cache: Cache, stale_seconds: int) -> None:
        del stale_seconds
        self._cache = cache

    def start(self) -> None:
        with self._cache.batch():
            for namespace in self._copied.namespaces:
                self._cache.apply_namespace(namespace)
            for node in self._copied.nodes:
                self._cache.apply_node(node)
            for pod in self._copied.pods:
                self._cache.apply_pod(pod)
            self._cache.replace_budgets(self._copied.budgets)
            self._cache.follow_guide(self._copied.guide)
            self._cache.follow_troubles(self._copied.troubles)
        self.synced = True

    def stop(self) -> None:
        pass


class LiveSource:
    """A cluster that is listed and watched."""

    def __init__(self, name: str, api: ApiClient) -> None:
        self.name = name
        self.api = api
        self._karpenter = KarpenterObjects(Client(api))

    @property
    def provisioning(self) -> Provisioning:
        return self._karpenter.found

    def now(self) -> float:
        return self._reflector.clock.now()

    def refresh(self) -> None:
        self._karpenter.refresh()

    def attach(self, cache: Cache, stale_seconds: int) -> None:
        # A watch lasts up to twice as long, and a third is left to begin the next one.
        pace = Pace(watch_seconds=stale_seconds // 3)
        self._reflector = Reflector(self.api, cluster_resources(cache), pace)
        self._finished = Reflector(self.api, [finished_pods(cache)], pace)

    @property
    def synced(self) -> bool:
        return self._reflector.synced

    @property
    def watches(self) -> Sequence[WatchView]:
        return self._reflector.watches

    def start(self) -> None:
        self._reflector.start()
        self._finished.start()

    def stop(self) -> None:
        self._reflector.stop()
        self._finished.stop()


def from_file(path: Path) -> Source:
    name = "standard input" if str(path) == "/dev/stdin" else str(path)
    return FileSource(f"the cluster in {name}", path)


def live(kubeconfig: Path | None) -> Source:
    """The cluster that kubectl would talk to, else the one we run in."""
    connected = connect(kubeconfig)
    if connected is None:
        raise TradewindError(
            "no cluster: --kubeconfig or KUBECONFIG names one, and there is no ~/.kube/config"
        )
    return LiveSource(*connected)


def choose(cluster_file: Path | None, kubeconfig: Path | None) -> Source:
    """What was asked for, else the cluster of KUBECONFIG, else the one we run in, else the example.

    Not the cluster of ~/.kube/config: a first try should not read whatever cluster was used last.
    """
    if cluster_file is not None:
        return from_file(cluster_file)
    connected = connect(kubeconfig, of_home=False)
    return LiveSource(*connected) if connected else example()


def example() -> Source:
    return FileSource("the example cluster", EXAMPLES / "cluster.json")
