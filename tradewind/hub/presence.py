"""Which schedulers of the fleet are alive: each holds a Lease of its own, and looks at those of the others.

As with leaders, no other clock is trusted: a scheduler is alive while its Lease has changed within the
Lease's duration by our own clock.
"""

import logging
import threading
import time
from collections.abc import Callable

import msgspec

from tradewind.errors import ApiError
from tradewind.kube.access import ApiClient
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded
from tradewind.kube.leader import Leader

_log = logging.getLogger(__name__)


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None


class _Lease(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Leases(msgspec.Struct):
    items: list[_Lease] | None = None


_decoder = msgspec.json.Decoder(_Leases)


class Presence:
    """Among those of one scheduler name. `on_change` is called in its thread when one has come or gone."""

    def __init__(
        self,
        api: ApiClient,
        namespace: str,
        identity: str,
        *,
        scheduler_name: str,
        seconds: float = 15.0,
        on_change: Callable[[], None] = lambda: None,
        unfit: Callable[[], str] = lambda: "",
    ) -> None:
        self.identity = identity
        self.alive: frozenset[str] = frozenset({identity})
        retry = min(2.0, seconds / 5)
        self._prefix = f"{scheduler_name}-fleet."
        lease = self._prefix + identity.lower()
        self._leader = Leader(api, namespace, lease, identity, duration=seconds, retry=retry, unfit=unfit)
        self._client = Client(ApiClient(api.configuration))
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._seconds, self._retry = seconds, retry
        self._on_change = on_change
        self._seen: dict[str, tuple[str, float]] = {}  # the version of each Lease, and since when it has it
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        self._leader.start()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(self._seconds)
        self._leader.stop()
        self._client.close()

    def _run(self) -> None:
        while not self._stop.wait(self._retry):
            try:
                self.look(decoded(_decoder, self._client.get(self._path)), time.monotonic())
            except ApiError as error:
                _log.warning("the other schedulers of the fleet could not be looked for: %s", error)
            except Exception:  # noqa: BLE001  a dead thread would keep those that are gone alive, in silence
                _log.exception("the other schedulers of the fleet could not be looked for")

    def look(self, leases: _Leases, now: float) -> None:
        alive = {self.identity}
        for lease in leases.items or ():
            name, holder = lease.metadata.name, lease.spec.holder_identity
            if not name.startswith(self._prefix) or not holder:
                continue
            version, since = self._seen.get(name, ("", now))
            if version != lease.metadata.resource_version:
                since = now
                self._seen[name] = (lease.metadata.resource_version, now)
            if now - since < (lease.spec.lease_duration_seconds or self._seconds):
                alive.add(holder)
        if alive != self.alive:
            self.alive = frozenset(alive)
            _log.info("schedulers of the fleet: %s", ", ".join(sorted(alive)))
            self._on_change()
