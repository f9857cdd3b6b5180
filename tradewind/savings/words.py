"""A forecast in sentences: the same ones in a terminal, in Markdown and on the page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tradewind.cluster.files import DUMP
from tradewind.explain.words import counted, decimals_of
from tradewind.planner.keepers import CAUTIONS
from tradewind.savings.bill import Money
from tradewind.savings.forecast import Forecast, Remains
from tradewind.savings.peers import Peer

_ROUNDING = 1e-6
_MAX_NAMED = 3
_LEAST_SHARE, _SMALL_SHARE = 0.001, 0.01
_FEW_DOLLARS = 100  # below, cents are worth showing


@dataclass(frozen=True, eq=False)
class Words:
    told: Forecast

    @property
    def decimals(self) -> int:
        """The same for all amounts, so that a reader can add them up."""
        return min(decimals_of(self.told.now.hourly or 0.0, 4), 6)

    def amount(self, hourly: float) -> str:
        return f"${hourly:,.{self.decimals}f}/h"

    def money(self, money: Money) -> str:
        """Dollars, or nodes where there are no prices."""
        return counted(money.nodes, "node") if money.hourly is None else self.amount(money.hourly)

    @property
    def share(self) -> str:
        """Of the bill that is saved; of the nodes where there are no prices."""
        now, saved = self.told.now, self.told.saved
        total = now.nodes if now.hourly is None else now.hourly
        part = saved.nodes if saved.hourly is None else saved.hourly
        return percent(part / total) if total else percent(0)

    def headline(self) -> str:
        now, after, saved = self.told.now, self.told.after, self.told.saved
        if now.hourly is None:
            fewer = f"{counted(saved.nodes, 'node')} fewer" if saved.nodes else "none fewer"
            head = f"{counted(now.nodes, 'node')} now{self._idle()}, {after.nodes:,} with Tradewind"
            return f"{head}: {'another ' if self.told.idle.nodes else ''}{fewer} ({self.share})."
        head = f"{_cost(now)} {self.money(now)}{self.caveat(now)} now{self._idle()}."
        if not saved.nodes:
            rest = "the others" if self.told.idle.nodes else "them"
            return f"{head} Tradewind finds none of {rest} to save."
        return (
            f"{head} With Tradewind {_cost(after)} {self.money(after)}: "
            f"{'another ' if self.told.idle.nodes else ''}{self.money(saved)}{self.caveat(saved)} less "
            f"({self.share}), {monthly(saved)} a month."
        )

    def _idle(self) -> str:
        idle = self.told.idle
        if not idle.nodes:
            return ""
        amount = "" if idle.hourly is None else f"{self.amount(idle.hourly)} of it for "
        return f", {amount}{counted(idle.nodes, 'node')} empty or cordoned already"

    def parts(self) -> Iterator[str]:
        """What goes away by what, and what was emptied for others."""
        told = self.told
        if told.saved.nodes:
            they = "it" if told.saved.nodes == 1 else "them"
            yield (
                f"{self._prefix(told.saved)}{counted(told.saved.nodes, 'node')} emptied by moving "
                f"{counted(told.moved, 'pod')} from {they} to nodes that stay"
            )
        if told.idle.nodes:
            they = "it" if told.idle.nodes == 1 else "them"
            yield (
                f"{self._prefix(told.idle)}{counted(told.idle.nodes, 'node')} empty or cordoned already: "
                f"any autoscaler removes {they}, so Tradewind does not count {they}"
            )
        if told.cleared:
            yield f"{counted(len(told.cleared), 'node')} emptied for waiting pods, and kept for them"

    def bounds(self) -> str:
        """Empty where there is nothing to say."""
        told, bounds = self.told, self.told.bounds
        if bounds.all_moved is None:
            return ""
        if told.now.hourly is None:
            fewest = math.ceil(bounds.all_moved - _ROUNDING)
            return f"No placement of these pods needs fewer than {counted(fewest, 'node')}."
        text = f"No placement of these pods on these nodes can cost less than {self.amount(bounds.all_moved)}"
        if bounds.within_limits is not None and bounds.within_limits > bounds.all_moved + _ROUNDING:
            text += f", nor less than {self.amount(bounds.within_limits)} while the pods named below stay"
        return f"{text}."

    def remains(self, each: Remains) -> str:
        text = f"{self._prefix(each.money)}{counted(each.money.nodes, 'node')} {each.sentence}"
        if each.pods:
            text += f" ({some(each.pods)})"
        lifted = each.lifted
        if lifted is not None and lifted.nodes and (lifted.hourly is None or lifted.hourly > _ROUNDING):
            text += f"; with --move {each.by} {self.money(lifted)} more could be saved"
        elif lifted is None and each.by in CAUTIONS:
            text += f"; --move {each.by} says how much more could be saved"
        return text

    def peer(self, peer: Peer) -> str:
        """What one of the tools that the cluster has would leave."""
        more = f", {peer.replaced:,} of them replaced by cheaper ones" if peer.replaced else ""
        count = counted(peer.after.nodes, "node")
        amount = "" if peer.after.hourly is None else f", {self.money(peer.after)}"
        return f"{peer.name}: {count}{more}{amount}"

    def waiting(self) -> str:
        told = self.told
        new = len(told.growth.pods)
        waiting = len(told.placed) + len(told.unplaced) + new
        if not waiting:
            return ""
        rest = f"; {len(told.unplaced):,} would not" if told.unplaced else ""
        text = f"{len(told.placed) + new:,} of {counted(waiting, 'waiting pod')} would have a place{rest}."
        if new:
            nodes = ", ".join(
                f"{counted(n, 'new node')} of pool {pool}" for pool, n in sorted(told.growth.nodes.items())
            )
            text += f" {counted(new, 'pod')} of them on {nodes}"
            cost = told.growth.hourly
            text += f", {self.amount(cost)}" if cost is not None else ", at an unknown price"
            text += ": not in the figures above, as the autoscaler adds them either way."
        return text

    def risk(self) -> str:
        """Of the pods that run now, before and after."""
        now, after, pods = self.told.interruptions
        rates, who = self.told.rates, f"{counted(pods, 'running pod')}"
        text = f"Expected interruptions of {who}: {now:,.2f} -> {after:,.2f} a month."
        if rates.assumed:
            text += (
                f" The rate of {rates.assumed:,} of {counted(rates.spot, 'spot node')} is unknown; "
                f"{percent(rates.rate)} a month is assumed."
            )
        return text

    def sources(self) -> list[str]:
        """What the figures rest on."""
        told = [str(self.told.coverage)]
        if self.told.missing:
            told.insert(
                0, f"The file seems to lack pods, so the savings are too high: {self.told.missing[0]}."
            )
        if not self.told.budgets:
            told.append("No PodDisruptionBudget was seen. If the cluster has some, dump them too: " + DUMP)
        return told

    def _prefix(self, money: Money) -> str:
        return "" if money.hourly is None else f"{self.amount(money.hourly)}{self.caveat(money)}: "

    def caveat(self, money: Money) -> str:
        """In brackets after the amount: what of it is an estimate, and what is not in it."""
        notes = []
        if money.estimated > _ROUNDING:
            notes.append(f"{self.amount(money.estimated)} of it estimated")
        if money.unpriced:
            notes.append(f"{counted(money.unpriced, 'node')} without a price not in it")
        return f" ({', '.join(notes)})" if notes else ""


def _cost(money: Money) -> str:
    return f"{counted(money.nodes, 'node')} {'costs' if money.nodes == 1 else 'cost'}"


def percent(share: float) -> str:
    """`16 %`, `0.1 %`, `< 0.1 %`: what is there is never shown as nothing."""
    if share <= 0:
        return "0 %"
    if share < _LEAST_SHARE:
        return f"< {100 * _LEAST_SHARE:g} %"
    return f"{100 * share:.1f} %" if share < _SMALL_SHARE else f"{100 * share:.0f} %"


def monthly(money: Money) -> str:
    amount = money.monthly or 0.0
    return f"${amount:,.0f}" if amount >= _FEW_DOLLARS else f"${amount:,.2f}"


def some(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMED
    return ", ".join(names[:_MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")
