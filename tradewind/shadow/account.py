"""What both clusters have cost so far, by the hour and in all: sums over time that go on from any moment."""

import math
from collections.abc import Mapping

import msgspec

from tradewind.shadow.cluster import Compared, Side

HOUR_SECONDS = 3600.0
HOURS_A_MONTH = 730.0
# Over a longer gap nobody watched, and nothing is known.
MAX_GAP_SECONDS = 60.0
MAX_HOURS = 14 * 24
_VERSION = 1


class Sum(msgspec.Struct, array_like=True):
    """Of one cluster over some time."""

    dollars: float = 0.0
    node_hours: float = 0.0  # of nodes in use
    unpriced_node_hours: float = 0.0  # of those, not in the dollars
    pod_hours: float = 0.0
    interruptions: float = 0.0  # of pods, to be expected by the nodes' rates

    def add(self, side: Side, hours: float) -> None:
        self.dollars += side.dollars * hours
        self.node_hours += side.nodes * hours
        self.unpriced_node_hours += side.unpriced * hours
        self.pod_hours += side.pods * hours
        self.interruptions += side.interruptions / HOURS_A_MONTH * hours


class Period(msgspec.Struct, array_like=True):
    """Both clusters over the same time. While Tradewind is live there is one, and `shadow` stays empty."""

    began: float = 0.0  # seconds since 1970
    hours: float = 0.0  # that were watched
    real: Sum = msgspec.field(default_factory=Sum)
    shadow: Sum = msgspec.field(default_factory=Sum)
    live: bool = False

    def add(self, real: Side, shadow: Side, hours: float) -> None:
        self.hours += hours
        self.real.add(real, hours)
        if not self.live:
            self.shadow.add(shadow, hours)

    @property
    def saved(self) -> float:
        """Dollars; below zero where the shadow costs more."""
        return self.real.dollars - self.shadow.dollars


class ShadowAccount(msgspec.Struct):
    version: int = _VERSION
    at: float = 0.0  # seconds since 1970, until when it counts
    shadow: Period = msgspec.field(default_factory=Period)
    live: Period = msgspec.field(default_factory=lambda: Period(live=True))
    hours: list[Period] = []  # the newest last
    same: int = 0
    other: int = 0
    nowhere: int = 0
    coverage: str = ""  # how many nodes have a price, and from where
    nodes: dict[str, list[str]] = {}  # UIDs of pods by the node that they are on in the shadow

    def pass_time(self, now: float, real: Side, shadow: Side, *, live: bool) -> None:
        """Both were like this since the last time."""
        seconds = now - self.at
        self.at = now
        if not 0 < seconds <= MAX_GAP_SECONDS:
            return
        whole = self.live if live else self.shadow
        for period in (whole, self._hour(now, live=live)):
            period.began = period.began or now - seconds
            period.add(real, shadow, seconds / HOUR_SECONDS)

    def count(self, compared: Compared) -> None:
        """Since the last time."""
        self.same += compared.same
        self.other += compared.other
        self.nowhere += compared.nowhere

    def _hour(self, now: float, *, live: bool) -> Period:
        began = now // HOUR_SECONDS * HOUR_SECONDS
        newest = self.hours[-1] if self.hours else None
        if newest is None or newest.began < began or newest.live != live:
            self.hours = [*self.hours[1 - MAX_HOURS :], Period(began=began, live=live)]
        return self.hours[-1]

    def remember(self, placements: Mapping[str, str]) -> None:
        nodes: dict[str, list[str]] = {}
        for uid, name in placements.items():
            nodes.setdefault(name, []).append(uid)
        self.nodes = nodes

    def remembered(self) -> dict[str, str]:
        return {uid: name for name, uids in self.nodes.items() for uid in uids}


_decoder = msgspec.json.Decoder(ShadowAccount)


def encode(account: ShadowAccount, max_bytes: int) -> str:
    """If it is too large, where pods stand is dropped first: they then stand where they really do."""
    text = msgspec.json.encode(account)
    nodes = account.nodes
    while len(text) > max_bytes and nodes:
        nodes = dict(list(nodes.items())[: len(nodes) * 3 // 4])
        text = msgspec.json.encode(msgspec.structs.replace(account, nodes=nodes))
    return text.decode()


def decode(text: str) -> ShadowAccount:
    """Raise ValueError for what is malformed, of another version, or impossible."""
    account = _decoder.decode(text)
    if account.version != _VERSION:
        raise ValueError(f"version {account.version}, not {_VERSION}")
    for period in (account.shadow, account.live, *account.hours):
        sums = (msgspec.structs.astuple(each) for each in (period.real, period.shadow))
        numbers = [period.began, period.hours, *(value for each in sums for value in each)]
        if not all(0 <= value < math.inf for value in numbers):
            raise ValueError("a negative or infinite number")
    return account
