"""The nodes as tiles, before and after: area by price, colour by risk, filled as far as pods ask for it."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from tradewind.cluster.objects import Pod
from tradewind.explain.words import counted, dollars
from tradewind.savings.forecast import Forecast
from tradewind.savings.treemap import Rectangle, treemap

WIDTH, HEIGHT = 480.0, 330.0
# Upper ends of the steps of risk, as the share of such nodes that is taken away in a month.
STEPS = (0.01, 0.05, 0.1, 0.2)
_BETWEEN = "-._/"  # parts of a name
_PART = re.compile(r"[^-._/]+|[-._/]")
UNKNOWN = "unknown"  # the class of a node whose interruption rate no source gives
_LINE = 17.0  # of text, in the picture's units
_LETTER = 8.3
_LEAST_AREA = 0.02  # of the median, so that a node that costs nothing can still be seen


@dataclass(frozen=True, kw_only=True)
class Tile:
    name: str
    label: str  # the name without what all names have in common
    at: Rectangle
    price: float  # NaN where unknown
    guessed: bool
    risk: float
    risk_known: bool
    durable: bool
    before: float  # the largest share of processor or memory that pods ask for
    after: float
    taken: int  # pods that come
    gone: bool  # afterwards
    empty: bool  # already
    badge: str = ""  # what is about to happen to it

    @property
    def colour(self) -> str:
        """The class of its step of risk."""
        return f"r{sum(self.risk >= end for end in STEPS)}" if self.risk_known else UNKNOWN


def tiles(told: Forecast) -> list[Tile]:
    nodes = told.snapshot.nodes
    names = nodes.names
    risks = dict(zip(names, nodes.interruption_rate.tolist(), strict=True))
    durable = dict(zip(names, nodes.durable.tolist(), strict=True))
    before, after = _shares(told, told.before), _shares(told, told.after_pods)
    at = {pod.uid: pod.node_name for pod in told.before}
    taken = Counter(pod.node_name for pod in told.after_pods if pod.node_name != at[pod.uid])
    areas = areas_of({name: each.price for name, each in told.bill.prices.items()})
    ordered = sorted(names, key=lambda name: (-areas[name], name))
    places = treemap([areas[name] for name in ordered], WIDTH, HEIGHT)
    labels = short_names(names)
    return [
        Tile(
            name=name,
            label=labels[name],
            at=at,
            price=told.bill.prices[name].price,
            guessed=told.bill.priced
            and (told.bill.prices[name].estimated or math.isnan(told.bill.prices[name].price)),
            risk=risks[name],
            risk_known=told.bill.prices[name].rate_known,
            durable=durable[name],
            before=before[name],
            after=after[name],
            taken=taken[name],
            gone=name in told.gone,
            empty=name in told.idle_nodes,
        )
        for name, at in zip(ordered, places, strict=True)
    ]


def areas_of(prices: Mapping[str, float]) -> dict[str, float]:
    """By node; one without a price is as large as the one in the middle."""
    known = [price for price in prices.values() if price > 0]
    middle = float(np.median(known)) if known else 1.0
    least = middle * _LEAST_AREA
    return {name: middle if math.isnan(price) else max(price, least) for name, price in prices.items()}


def short_names(names: Sequence[str]) -> Mapping[str, str]:
    """Each name without the parts that all have in common: of ip-10-0-0-7.ec2.internal it is the 7."""
    if len(names) < 2:  # noqa: PLR2004  one alone has everything in common with itself
        return {name: name for name in names}
    parts = [_PART.findall(name) for name in names]
    start, end = _shared(parts), _shared([each[::-1] for each in parts])
    short = ["".join(each[start : len(each) - end]).strip(_BETWEEN) for each in parts]
    return dict(zip(names, short if all(short) else names, strict=True))


def _shared(names: Sequence[Sequence[str]]) -> int:
    """How many parts all of them begin with."""
    different = (number for number, column in enumerate(zip(*names, strict=False)) if len(set(column)) > 1)
    return next(different, min(map(len, names)))


def _shares(told: Forecast, pods: Iterable[Pod]) -> Mapping[str, float]:
    asked: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        if pod.node_name and not pod.finished:
            asked[pod.node_name].update({key: pod.requests.get(key, 0) for key in ("cpu", "memory")})
    nodes = {node.name: node.allocatable for node in told.snapshot.nodes.cluster.table.nodes}
    return {
        name: min(
            max(
                (asked[name][key] / total for key in ("cpu", "memory") if (total := has.get(key, 0))),
                default=0.0,
            ),
            1.0,
        )
        for name, has in nodes.items()
    }


def svg(
    found: Sequence[Tile],
    *,
    after: bool,
    label: str,
    size: tuple[float, float] = (WIDTH, HEIGHT),
    over: str = "",
) -> str:
    """`over` is more of SVG, drawn over the tiles."""
    shapes = "".join(_tile(tile, after=after) for tile in found) + over
    hatch = "after" if after else "before"
    return (
        f'<svg viewBox="0 0 {size[0]:.0f} {size[1]:.0f}" role="img" aria-label="{escape(label)}">'
        f'<defs><pattern id="hatch-{hatch}" width="7" height="7" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="7" class="stripe"/></pattern></defs>'
        f"{shapes}</svg>"
    )


def _tile(tile: Tile, *, after: bool) -> str:
    gap = 1.5 if min(tile.at.width, tile.at.height) > 12 else 0.4  # noqa: PLR2004  units of the picture
    x, y = tile.at.x + gap, tile.at.y + gap
    width, height = max(tile.at.width - 2 * gap, 0.2), max(tile.at.height - 2 * gap, 0.2)
    share = tile.after if after else tile.before
    parts = [f"<title>{escape(_title(tile, share, after=after))}</title>"]
    box = f'x="{x:.1f}" width="{width:.1f}" rx="{min(4.0, width / 6):.1f}"'
    if after and tile.gone:
        parts.append(f'<rect {box} y="{y:.1f}" height="{height:.1f}" class="gone"/>')
    else:
        filled = height * share
        parts.append(f'<rect {box} y="{y:.1f}" height="{height:.1f}" class="room {tile.colour}"/>')
        parts.append(
            f'<rect {box} y="{y + height - filled:.1f}" height="{filled:.1f}" class="used {tile.colour}"/>'
        )
        if tile.guessed:
            hatch = "after" if after else "before"
            parts.append(f'<rect {box} y="{y:.1f}" height="{height:.1f}" fill="url(#hatch-{hatch})"/>')
    if tile.badge:
        corner = min(18.0, width / 2, height / 2)
        parts.append(
            f'<path d="M{x + width:.1f} {y:.1f}v{corner:.1f}l-{corner:.1f}-{corner:.1f}z" class="badge"/>'
        )
    parts += _texts(tile, share, Rectangle(x, y, width, height), after=after)
    return f"<g>{''.join(parts)}</g>"


def _texts(tile: Tile, share: float, at: Rectangle, *, after: bool) -> Iterable[str]:
    letters = int((at.width - 12) / _LETTER)
    room = int((at.height - 6) / _LINE)
    if letters < 5 or not room:  # noqa: PLR2004  shorter says nothing
        return
    lines = [tile.label, "no price" if math.isnan(tile.price) else dollars(tile.price).removesuffix("/h")]
    if after and tile.gone:
        lines.append("empty already" if tile.empty else "emptied")
    elif after and tile.taken:
        more = f"{100 * share:.0f} %, +{counted(tile.taken, 'pod')}"
        lines.append(more if len(more) <= letters else f"{100 * share:.0f} %, +{tile.taken}")
    else:
        lines.append(f"{100 * share:.0f} %")
    lines += [tile.badge] if tile.badge else []
    for number, line in enumerate(lines[:room]):
        shown = line if len(line) <= letters else f"{line[: letters - 1]}…"
        kind = "name" if number == 0 else "figure"
        y = at.y + 18 + number * _LINE
        yield f'<text x="{at.x + 7:.1f}" y="{y:.1f}" class="{kind}">{escape(shown)}</text>'


def _title(tile: Tile, share: float, *, after: bool) -> str:
    price = "no price" if math.isnan(tile.price) else dollars(tile.price)
    terms = "on demand" if tile.durable else "spot"
    told = [
        tile.name,
        f"{price}{' (estimated)' if tile.guessed and not math.isnan(tile.price) else ''}, {terms}",
    ]
    rate = f"{100 * tile.risk:.1f} % a month"
    told.append(
        f"interrupted with {rate}" if tile.risk_known else f"interruption rate unknown, {rate} assumed"
    )
    if after and tile.gone:
        told.append("empty already" if tile.empty else "emptied: can go away")
    else:
        told.append(f"{100 * share:.0f} % asked for by pods")
    if after and tile.taken:
        told.append(f"{counted(tile.taken, 'pod')} more")
    if tile.badge:
        told.append(tile.badge)
    return "\n".join(told)
