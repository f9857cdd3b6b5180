"""How the API server is reached: a kubeconfig, or the service account of the pod that we run in."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import urllib3
import yaml

from tradewind.errors import TradewindError
from tradewind.kube.official import (
    ApiClient,
    ConfigException,
    Configuration,
    load_incluster_config,
    load_kube_config,
)

__all__ = [
    "ApiClient",
    "bearer_token",
    "connect",
    "credentials",
    "home_kubeconfig",
]  # nobody else names the official client

_log = logging.getLogger(__name__)


def connect(kubeconfig: Path | None, *, of_home: bool = True) -> tuple[str, ApiClient] | None:
    """The cluster's name for people, and the access to it; None where none is named and we run in none.

    As kubectl: what is asked for, KUBECONFIG, ~/.kube/config (with `of_home`), the account of the pod.
    KUBECONFIG may name several files, and is unset where it is empty.
    """
    named = str(kubeconfig) if kubeconfig is not None else os.environ.get("KUBECONFIG", "")
    if of_home:
        named = named or str(home_kubeconfig() or "")
    files = [part for part in named.split(os.pathsep) if part]
    if files:
        return f"the cluster of {named}", ApiClient(_from_files(files))
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "the cluster it runs in", ApiClient(_in_cluster())
    return None


def credentials(configuration: Configuration) -> dict[str, str]:
    """As headers; renewed on the way, if they need it."""
    return {setting["key"]: setting["value"].strip() for setting in configuration.auth_settings().values()}


def bearer_token(kubeconfig: Path) -> str:
    """What the user of this kubeconfig shows to the API server; empty where that is a certificate."""
    configuration = _from_files([str(kubeconfig)])
    kind, _, token = credentials(configuration).get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""


def home_kubeconfig() -> Path | None:
    """Where kubectl looks last, if it is there."""
    try:
        path = Path("~/.kube/config").expanduser()
    except RuntimeError:  # a container's user need not have a home
        return None
    return path if path.is_file() else None


def _in_cluster() -> Configuration:
    configuration = Configuration()
    try:
        load_incluster_config(client_configuration=configuration)
    except (ConfigException, OSError) as error:
        raise _unusable("the service account of the pod", error) from error
    return configuration


def _from_files(files: Sequence[str]) -> Configuration:
    place = os.pathsep.join(files)
    configuration = Configuration()
    try:
        found = {path: document for path in files if (document := _document(path))}
        if not found:
            raise _unusable(place, "there is no such file, or it is empty")
        # Of several current-contexts kubectl takes the first, the official client the last.
        contexts = (document.get("current-context") for document in found.values())
        load_kube_config(
            os.pathsep.join(found),
            context=next(filter(None, contexts), None),
            client_configuration=configuration,
        )
    except (ConfigException, OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unusable(place, error) from error
    if configuration.host.startswith("https:") and not configuration.verify_ssl:
        # urllib3 would say so with every request.
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        _log.warning("%s skips TLS verification: anybody in between can pose as the API server", place)
    return configuration


def _document(path: str) -> dict[str, Any]:
    """Empty where there is no such file: kubectl passes over those."""
    try:
        document = yaml.safe_load(Path(path).expanduser().read_text())
    except FileNotFoundError:
        return {}
    if document is not None and not isinstance(document, dict):
        raise ConfigException(f"{path} is no kubeconfig")
    return document or {}


def _unusable(place: str, error: object) -> TradewindError:
    return TradewindError(f"reading the access to the cluster from {place}: {error}")
