"""A forecast as one page that needs nothing else: no scripts, no other files, to be sent to anybody."""

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from tradewind.explain.words import counted
from tradewind.savings.bill import Bill, Money
from tradewind.savings.forecast import Forecast
from tradewind.savings.maps import STEPS, UNKNOWN, svg, tiles
from tradewind.savings.words import Words, monthly, some
from tradewind.savings.workloads import division

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
_MAX_SETS = 200
_FEW = 10  # drain sets that fit on a screen
_TOP = 10  # workloads
_BAR = 1000


def content(told: Forecast) -> str:
    """What stands in the body, for a page that has a style and a policy of its own."""
    words = Words(told)
    return "".join(
        [
            _head(told, words),
            _maps(told, words),
            _bill(told, words),
            _moves(told, words),
            _workloads(told, words),
            f"<footer>{''.join(f'<p>{escape(line)}</p>' for line in words.sources())}</footer>",
        ]
    )


def page(told: Forecast) -> str:
    words = Words(told)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Savings: {escape(words.money(told.saved))}</title><style>{STYLE}</style></head>"
        f"<body><main>{content(told)}</main></body></html>\n"
    )


def _head(told: Forecast, words: Words) -> str:
    saved = told.saved
    fact = (
        f"{words.share} of the nodes" if saved.hourly is None else f"{words.share}, {monthly(saved)} a month"
    )
    cards = [
        ("Now", told.now, _nodes(told.now), ""),
        ("With Tradewind", told.after, _nodes(told.after), ""),
        ("Saved by moving pods", saved, fact, " good" if saved.nodes else ""),
    ]
    if told.idle.nodes:
        cards.insert(1, ("Empty or cordoned", told.idle, f"{_nodes(told.idle)}, by any autoscaler", ""))
    shown = "".join(
        f'<div class="card{kind}"><span class="label">{name}</span><b>{escape(words.money(money))}</b>'
        f'<span class="soft">{escape(under + words.caveat(money))}</span></div>'
        for name, money, under, kind in cards
    )
    coverage = escape(str(told.coverage))
    return (
        f'<h1>What this cluster could save</h1><p class="soft">{coverage}</p><div class="cards">{shown}</div>'
    )


def _nodes(money: Money) -> str:
    return "no prices" if money.hourly is None else counted(money.nodes, "node")


def _maps(told: Forecast, words: Words) -> str:
    if not told.now.nodes:
        return "<section><h2>Nodes</h2><p>There is no node in this file.</p></section>"
    found = tiles(told)
    size = "area is price" if told.bill.priced else "all alike, as there are no prices"
    figures = "".join(
        f"<figure><figcaption>{name} <span>{escape(figure)}</span></figcaption>{picture}</figure>"
        for name, figure, picture in (
            ("Now", words.money(told.now), svg(found, after=False, label="The nodes now")),
            ("With Tradewind", words.money(told.after), svg(found, after=True, label="The nodes afterwards")),
        )
    )
    return (
        f'<section><h2>Nodes <span class="soft">({size})</span></h2><div class="maps">{figures}</div>'
        f"{key(told.bill, going=bool(told.saved.nodes))}</section>"
    )


def key(bill: Bill, *, going: bool = False) -> str:
    """What the colours and patterns of a map mean; `going` says that some nodes can go away."""
    return f'<ul class="key">{"".join(_entries(bill, going=going))}</ul>'


def _entries(bill: Bill, *, going: bool) -> Iterator[str]:
    def sample(shapes: str) -> str:
        return f'<svg viewBox="0 0 20 16" aria-hidden="true">{shapes}</svg>'

    ends = ["0", *(f"{100 * end:.0f} %" for end in STEPS)]
    yield '<li class="ends">Interrupted a month</li>'
    for step, start in enumerate(ends):
        text = f"{start} to {ends[step + 1]}" if step + 1 < len(ends) else f"{start} and more"
        full = f'<rect width="20" height="16" rx="3" class="used r{step}"/>'
        yield f"<li>{sample(full)}{text}</li>"
    if not all(each.rate_known for each in bill.prices.values()):
        full = f'<rect width="20" height="16" rx="3" class="used {UNKNOWN}"/>'
        yield f"<li>{sample(full)}spot, rate unknown</li>"
    half = '<rect width="20" height="16" rx="3" class="room r1"/>'
    half += '<rect y="7" width="20" height="9" class="used r1"/>'
    yield f"<li>{sample(half)}filled as far as pods ask for it</li>"
    if any(each.estimated for each in bill.prices.values()):
        hatched = '<rect width="20" height="16" rx="3" class="used r1"/>'
        hatched += '<path d="M2 16 L16 0 M9 18 L22 4 M-4 10 L6 -2" class="stripe"/>'
        yield f"<li>{sample(hatched)}price is an estimate</li>"
    if going:
        dashed = '<rect x="1" y="1" width="18" height="14" rx="3" class="gone"/>'
        yield f"<li>{sample(dashed)}can go away</li>"


def _bill(told: Forecast, words: Words) -> str:
    rows = "".join(
        f'<tr><td class="cost">{escape(words.money(each.money))}</td>'
        f"<td>{escape(counted(each.money.nodes, 'node'))} {escape(each.sentence)}"
        f"{_small(some(each.pods))}</td>"
        f'<td class="money wide">{_lifted(words, each.lifted, each.by)}</td></tr>'
        for each in told.remains
    )
    table = (
        "<table><thead><tr><th>Cost</th><th>What keeps it</th>"
        '<th class="money wide">More with --move</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        if rows
        else ""
    )
    facts = "".join(
        f"<p>{escape(line)}</p>" for line in (words.bounds(), words.waiting(), words.risk()) if line
    )
    others = "".join(f"<li>{escape(words.peer(each))}</li>" for each in told.peers)
    others = f"<p>What others would leave (simulated):</p><ul>{others}</ul>" if told.now.nodes else ""
    return f"<section><h2>What stays, and why</h2>{_bar(told)}{facts}{others}{table}</section>"


def _bar(told: Forecast) -> str:
    """The bill from left to right: what stays, what is saved, and a mark at the lower bound."""
    total = told.now.hourly if told.now.hourly is not None else float(told.now.nodes)
    after = told.after.hourly if told.after.hourly is not None else float(told.after.nodes)
    if not total:
        return ""
    saved = told.saved.hourly if told.saved.hourly is not None else float(told.saved.nodes)
    end, idle = _BAR * after / total, _BAR * (after + saved) / total
    bound = told.bounds.all_moved
    mark = ""
    if bound is not None:
        at = _BAR * min(bound, after) / total
        mark = f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="28" class="mark"/>'
    return (
        f'<svg class="bill" viewBox="0 0 {_BAR} 28" role="img" aria-label="What stays and what is saved" '
        f'preserveAspectRatio="none"><rect y="4" width="{end:.1f}" height="20" class="stays"/>'
        f'<rect x="{end:.1f}" y="4" width="{idle - end:.1f}" height="20" class="saved"/>'
        f'<rect x="{idle:.1f}" y="4" width="{_BAR - idle:.1f}" height="20" class="idle"/>{mark}</svg>'
        '<p class="soft"><small>Grey stays, green is saved, the outline is empty or cordoned already; the '
        "line is the lower bound.</small></p>"
    )


def _moves(told: Forecast, words: Words) -> str:
    if not told.sets:
        return ""
    shown = told.sets[:_MAX_SETS]
    rows = "".join(
        f"<tr><td>{escape(each.node)}</td>"
        f'<td class="money">{escape(words.money(told.bill.of([each.node])))}</td>'
        f"<td>{escape(some([f'{move.pod} to {move.target}' for move in each.moves]))}</td></tr>"
        for each in shown
    )
    more = len(told.sets) - len(shown)
    rest = f"<p>... and {more:,} more.</p>" if more > 0 else ""
    opened = ' open=""' if len(shown) <= _FEW else ""
    return (
        f"<section><details{opened}>"
        f"<summary>{counted(len(told.sets), 'node')} emptied by moving {counted(told.moved, 'pod')}"
        "</summary><table><thead><tr><th>Node</th>"
        '<th class="money">Price</th><th>Its pods go to</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{rest}</details></section>"
    )


def _workloads(told: Forecast, words: Words) -> str:
    found = division(told, _TOP)
    if found is None or not told.now.nodes:
        return ""
    rows = "".join(
        f'<tr><td>{escape(each.name)}</td><td class="money wide">{each.pods or ""}</td>'
        f'<td class="money">{words.amount(each.hourly)}</td>'
        f'<td class="money wide">{words.amount(each.estimated)}</td>'
        f'<td class="money">{words.amount(each.leaving)}</td></tr>'
        for each in (*found.parts, found.whole)
    )
    return (
        "<section><h2>What costs most</h2>"
        "<p>The price of each node, divided among its pods by the largest share of any resource that each "
        f"requests{escape(words.caveat(told.now))}. {escape(str(told.coverage))} The last column is the part "
        "of it on nodes that can go: where the saving comes from.</p>"
        '<table><thead><tr><th>Workload</th><th class="money wide">Pods</th><th class="money">Cost</th>'
        '<th class="money wide">Estimated</th><th class="money">Can be saved</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></section>"
    )


def _lifted(words: Words, lifted: Money | None, by: str) -> str:
    if lifted is None or not lifted.nodes:
        return ""
    return f"{escape(words.money(lifted))}{_small(by)}"


def _small(text: str) -> str:
    return f"<small>{escape(text)}</small>" if text else ""
