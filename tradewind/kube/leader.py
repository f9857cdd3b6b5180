"""One leader among several processes, by a Lease of coordination.k8s.io.

No clock of another machine is trusted: a Lease is free when nobody has claimed it, or when its record has not
changed for its duration by the watching process' own clock. The holder counts from before it sends a renewal,
and stops leading a while before anybody else may start. Every write names the version that it has read, so of
two that claim a Lease at once one is refused. See docs/adr/0014 for why the official client's election is not
used.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from tradewind.errors import ApiError, TradewindError
from tradewind.kube.backoff import jittered
from tradewind.kube.clock import ServerClock
from tradewind.kube.lease import REQUEST_SECONDS, Lease, LeaseSpec, LeaseStore
from tradewind.kube.official import ApiClient

_MIN_REQUEST_SECONDS = 0.1
_NEVER = -math.inf

_log = logging.getLogger(__name__)


class Leader:
    """A candidate, in a thread of its own from `start` to `stop`.

    `identity` belongs to one process at a time; a process that comes back with it leads again at once.
    `on_change` is called in that thread, with whether it leads now.
    """

    def __init__(
        self,
        api: ApiClient,
        namespace: str,
        name: str,
        identity: str,
        *,
        duration: float = 15.0,  # seconds without a renewal after which another may lead
        renew: float | None = None,  # seconds without a renewal after which we no longer lead; 2/3 of that
        retry: float = 2.0,  # seconds between two renewals, or two looks
        on_change: Callable[[bool], None] | None = None,
        unfit: Callable[[], str] = lambda: "",  # why the process must neither claim nor renew the Lease
    ) -> None:
        self._renew = duration * 2 / 3 if renew is None else renew
        if not (identity and 0 < retry < self._renew < duration):
            raise TradewindError(
                f"a leader needs an identity and 0 < retry < renew < duration, "
                f'not "{identity}", {retry}, {self._renew}, {duration}'
            )
        self.identity = identity
        self.trouble = ""  # the last failure, while it lasts
        self._duration = math.ceil(duration)  # the API knows whole seconds only
        self._retry = retry
        self._on_change = on_change
        self._unfit = unfit
        self._store = LeaseStore(api, namespace, name)
        self._seen: Lease | None = None
        self._seen_at = _NEVER
        self._leading_until = _NEVER
        self._announced = False
        self._logged: object = None  # the kind of the last failure, while it lasts
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease-{name}", daemon=True)

    @property
    def leading(self) -> bool:
        """By our own clock: also right while the API server hangs."""
        return time.monotonic() < self._leading_until

    @property
    def follows(self) -> bool:
        """Whether another leads: the Lease was renewed within its duration, as far as we could see."""
        seen, seen_at = self._seen, self._seen_at
        return seen is not None and not self._free(seen, seen_at)

    @property
    def clock(self) -> ServerClock:
        """By the answers about the Lease: a leader has one of at most some seconds ago."""
        return self._store.clock

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leads no longer when this returns, and the Lease is free if the API server can be reached."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._store.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._attempt(self._round)
            self._announce()
            self._stopping.wait(self._pause())
            self._announce()
        self._leading_until = _NEVER
        self._announce()
        self._attempt(self._release)

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.trouble, self._logged = "", None
        except TradewindError as error:
            self.trouble = str(error)
            kind = error.status if isinstance(error, ApiError) else type(error)
            if self._logged != kind:
                _log.warning("%s: %s; retrying every %.0f s", self._store, error, self._retry)
            self._logged = kind
        except Exception as error:  # noqa: BLE001  a dead thread would never lead again, in silence
            self.trouble = str(error)
            _log.exception("%s: unexpected failure", self._store)

    def _pause(self) -> float:
        """Not longer than we lead, so that its end is announced in time."""
        pause = jittered(self._retry)
        return min(pause, max(0.0, self._leading_until - time.monotonic())) if self._announced else pause

    def _round(self) -> None:
        unfit = self._unfit()
        if unfit or not self._ours():
            self._look()
            if self._seen is not None and not self._free(self._seen, self._seen_at):
                self._leading_until = _NEVER
                return
        if unfit:
            raise TradewindError(f"neither claimed nor renewed: {unfit}")
        self._claim()

    def _look(self) -> None:
        before = self._seen
        self._seen = self._store.read(self._patience())
        if self._seen is None or before is None or self._seen.spec != before.spec:
            self._seen_at = time.monotonic()

    def _ours(self) -> bool:
        return self._seen is not None and self._seen.spec.holder_identity == self.identity

    def _free(self, lease: Lease, seen_at: float) -> bool:
        if lease.spec.holder_identity in {None, "", self.identity}:
            return True
        return time.monotonic() >= seen_at + (lease.spec.lease_duration_seconds or self._duration)

    def _claim(self) -> None:
        """Take, or renew; who holds the Lease need not look first, for a stale claim is refused."""
        started = time.monotonic()
        if self._seen is None:
            self._seen = self._store.create(self._record(), self._patience())
        else:
            self._seen = self._store.replace(self._seen, self._record(), self._patience())
        if self._seen is not None:
            self._leading_until = started + self._renew

    def _record(self) -> LeaseSpec:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        old = self._seen.spec if self._seen else LeaseSpec()
        renewed = self._ours()
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=self._duration,
            acquire_time=old.acquire_time if renewed else now,
            renew_time=now,
            lease_transitions=(old.lease_transitions or 0) + (0 if renewed or not self._seen else 1),
        )

    def _release(self) -> None:
        if self._seen is not None and self._ours():
            free = msgspec.structs.replace(self._seen.spec, holder_identity=None)
            self._store.replace(self._seen, free, REQUEST_SECONDS)
            self._seen = None

    def _patience(self) -> float:
        """A request ends, one way or the other, before we would have to say that we no longer lead."""
        left = self._leading_until - time.monotonic()
        return min(REQUEST_SECONDS, max(left, _MIN_REQUEST_SECONDS)) if left > 0 else REQUEST_SECONDS

    def _announce(self) -> None:
        leading = self.leading
        if leading == self._announced:
            return
        self._announced = leading
        _log.info("%s: %s %s", self._store, self.identity, "leads" if leading else "no longer leads")
        if self._on_change is None:
            return
        try:
            self._on_change(leading)
        except Exception:  # noqa: BLE001  any defect at all; it is logged with its trace
            _log.exception("%s: on_change failed", self._store)
