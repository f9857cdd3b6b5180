"""What we use of the official client: access to the cluster, authentication, TLS, connections.

Its package imports every part of itself, and its reader of kubeconfigs an OAuth library that few users need:
a fifth of what a short command may take in all. So the package is entered past its `__init__`, and OAuth is
imported where a session is opened.
"""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

_OAUTH = "requests_oauthlib"


def _enter_package() -> None:
    """Whoever names a part of it imports that part alone."""
    spec = importlib.util.find_spec("kubernetes")
    if spec is not None and "kubernetes" not in sys.modules:
        sys.modules["kubernetes"] = importlib.util.module_from_spec(spec)


def _oauth_session(*arguments: Any, **options: Any) -> Any:
    return importlib.import_module(_OAUTH).OAuth2Session(*arguments, **options)


_enter_package()
_loaded = sys.modules.get(_OAUTH)
if _loaded is None:
    _later = ModuleType(_OAUTH)
    _later.OAuth2Session = _oauth_session  # type: ignore[attr-defined]
    sys.modules[_OAUTH] = _later

from kubernetes.client import ApiClient, Configuration  # noqa: E402  after the package was entered
from kubernetes.client.rest import should_bypass_proxies  # noqa: E402
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config  # noqa: E402

if _loaded is None:
    del sys.modules[_OAUTH]  # the next to import it gets it

__all__ = [
    "ApiClient",
    "ConfigException",
    "Configuration",
    "load_incluster_config",
    "load_kube_config",
    "should_bypass_proxies",
]
