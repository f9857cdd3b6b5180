"""Which cluster is served: a live one, one from a file, or the example that comes with Tradewind."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kubernetes.client import ApiClient
from kubernetes.client import Configuration as ApiConfiguration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from cluster.cache import Cache
from cluster.errors import TradewindError
from cluster.files import load
from cluster.reflector import Reflector
from extender.metrics import WatchView
from market.market import Market

EXAMPLES = Path(__file__).parent / "examples"


class Source(Protocol):
    """A cluster state and what fills it."""

    @property
    def name(self) -> str: ...  # for people

    @property
    def cache(self) -> Cache: ...

    @property
    def market(self) -> Market: ...

    @property
    def synced(self) -> bool: ...

    @property
    def api(self) -> ApiClient | None: ...

    @property
    def watches(self) -> Sequence[WatchView]: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


@dataclass
class FileSource:
    """A cluster that never changes."""

    name: str
    path: Path
    market: Market = field(default_factory=Market)
    synced: bool = False
    api: None = None
    watches: tuple[()] = ()

    def __post_init__(self) -> None:
        self.cache = Cache(self.market.offer_of)

    def start(self) -> None:
        load(self.path, self.cache)
        self.synced = True

    def stop(self) -> None:
        pass


class LiveSource:
    """A cluster that is listed and watched."""

    def __init__(self, name: str, api: ApiClient) -> None:
        self.name = name
        self.api = api
        self.market = Market()
        self.cache = Cache(self.market.offer_of)
        self._reflector = Reflector(api, self.cache)

    @property
    def synced(self) -> bool:
        return self._reflector.synced

    @property
    def watches(self) -> Sequence[WatchView]:
        return self._reflector.watches

    def start(self) -> None:
        self._reflector.start()

    def stop(self) -> None:
        self._reflector.stop()


def choose(cluster_file: Path | None, kubeconfig: Path | None) -> Source:
    """What was asked for, else the cluster of KUBECONFIG, else the one we run in, else the example."""
    if cluster_file is not None:
        return FileSource(f"the cluster in {cluster_file}", cluster_file)
    live = connect(kubeconfig)
    return LiveSource(*live) if live else FileSource("the example cluster", EXAMPLES / "cluster.json")


def connect(kubeconfig: Path | None) -> tuple[str, ApiClient] | None:
    """The cluster's name for people, and the access to it; None where none is named and we run in none."""
    if kubeconfig is None and "KUBECONFIG" in os.environ:
        kubeconfig = Path(os.environ["KUBECONFIG"])
    if kubeconfig is not None:
        return f"the cluster of {kubeconfig}", _api_client(kubeconfig)
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "the cluster it runs in", _api_client(None)
    return None


def _api_client(kubeconfig: Path | None) -> ApiClient:
    configuration = ApiConfiguration()
    try:
        if kubeconfig is None:
            load_incluster_config(client_configuration=configuration)
        else:
            load_kube_config(str(kubeconfig), client_configuration=configuration)
    except (ConfigException, OSError) as error:
        place = kubeconfig or "the service account of the pod"
        raise TradewindError(f"reading the access to the cluster from {place}: {error}") from error
    return ApiClient(configuration)
