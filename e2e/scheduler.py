"""KubeSchedulerConfiguration: profiles and extender entries as kube-scheduler reads them from a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from e2e.certs import KeyPair

DEFAULT = "default-scheduler"


def profile(
    name: str = DEFAULT,
    *,
    without: Mapping[str, Sequence[str]] | None = None,
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """A profile of the in-tree plugins; `without` names those switched off at an extension point."""
    points = {
        point: {"disabled": [{"name": name} for name in names]} for point, names in (without or {}).items()
    }
    configs = [{"name": name, "args": dict(args)} for name, args in (arguments or {}).items()]
    return {"schedulerName": name, "plugins": points, "pluginConfig": configs}


def extender(
    url: str,
    *,
    filter_verb: str = "filter",
    prioritize_verb: str = "prioritize",
    preempt_verb: str = "",
    bind_verb: str = "",
    weight: int = 1,
    node_cache_capable: bool = True,
    ignorable: bool = False,
    http_timeout: str = "5s",
    ca: Path | None = None,
    client: KeyPair | None = None,
) -> dict[str, Any]:
    """An extender entry; with `ca` it is called over HTTPS, with `client` under that certificate."""
    entry = {
        "urlPrefix": url,
        "filterVerb": filter_verb,
        "prioritizeVerb": prioritize_verb,
        "preemptVerb": preempt_verb,
        "bindVerb": bind_verb,
        "weight": weight,
        "nodeCacheCapable": node_cache_capable,
        "ignorable": ignorable,
        "httpTimeout": http_timeout,
    }
    return entry if ca is None else entry | {"enableHTTPS": True, "tlsConfig": _tls(ca, client)}


def _tls(ca: Path, client: KeyPair | None) -> dict[str, Any]:
    files = {"caFile": str(ca)}
    return files if client is None else files | {"certFile": str(client.cert), "keyFile": str(client.key)}


def configuration(
    *,
    profiles: Sequence[Mapping[str, Any]] = (),
    extenders: Sequence[Mapping[str, Any]] = (),
    percentage_of_nodes_to_score: int = 0,
    queries_per_second: int = 5_000,
    max_backoff_seconds: int = 10,
) -> dict[str, Any]:
    """0 % is kube-scheduler's own sampling, 10 s its own back-off.

    The client's rate is far above kube-scheduler's default of 50 a second, which would hide whatever slows
    scheduling down behind the rate of its bindings.
    """
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": queries_per_second, "burst": 2 * queries_per_second},
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": percentage_of_nodes_to_score,
        "podMaxBackoffSeconds": max_backoff_seconds,
        "profiles": [dict(entry) for entry in profiles or [profile()]],
        "extenders": [dict(entry) for entry in extenders],
    }
