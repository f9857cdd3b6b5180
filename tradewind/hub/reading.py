"""A hub read once: for commands that look and end."""

import time
from pathlib import Path

from tradewind.cluster.reflector import Reflector
from tradewind.errors import TradewindError
from tradewind.fleet.request import Request
from tradewind.hub.files import load
from tradewind.hub.records import Binding
from tradewind.hub.state import FleetState
from tradewind.kube.access import connect

_SECONDS = 30.0


class HubCopy:
    """The fleet at one moment; `now` is that moment."""

    def __init__(self, state: FleetState, now: float) -> None:
        self.state = state
        self.now = now
        state.refresh(now)

    def binding(self, named: str) -> Binding:
        found = self.state.bindings.get(named)
        if found is None:
            raise TradewindError(
                f'there is no ResourceBinding "{named}" (NAMESPACE/NAME), or ClusterResourceBinding (NAME)'
            )
        return found

    def request(self, binding: Binding) -> Request:
        """Raise TradewindError for one that is refused."""
        if binding.refusal:
            raise TradewindError(f"{binding.key}: {binding.refusal}")
        return binding.request(
            current=binding.current,
            fresh=False,
            quota=self.state.quota(binding),
            policy=self.state.policy(binding),
            others=self.state.others(binding),
        )


def from_file(path: Path) -> HubCopy:
    """As of its newest summary: a file grows old, and is asked about what it shows."""
    state = load(path)
    times = [note.summary.time for note in state.summaries.all() if note.summary]
    return HubCopy(state, max(times, default=time.time()))


def from_hub(kubeconfig: Path | None, namespace: str, sites_namespace: str) -> HubCopy:
    connected = connect(kubeconfig)
    if connected is None:
        raise TradewindError(
            "no hub: --kubeconfig or KUBECONFIG names Karmada's API server, --sites a file instead"
        )
    state = FleetState(namespace, sites_namespace)
    watches = Reflector(connected[1], state.resources())
    watches.start()
    try:
        deadline = time.monotonic() + _SECONDS
        for watch in watches.watches:
            if not watch.listed.wait(max(0.0, deadline - time.monotonic())):
                raise TradewindError(f"{watch.name} could not be listed: {watch.trouble or 'no answer'}")
    finally:
        watches.stop()
    return HubCopy(state, time.time())
