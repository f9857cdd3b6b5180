"""Templates become answers that a browser may show, and that can neither run nor fetch anything of others."""

import hashlib
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tradewind.explain.words import clock, counted, dollars
from tradewind.savings.html import STYLE
from tradewind.shadow.words import duration

_HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400

# All files that may be asked for, by name: nothing else of the disk can be.
STATIC = {
    "page.css": ("text/css", STYLE + (_HERE / "static" / "page.css").read_text(encoding="utf-8")),
    "live.js": ("text/javascript", (_HERE / "static" / "live.js").read_text(encoding="utf-8")),
    "icon.svg": ("image/svg+xml", (_HERE / "static" / "icon.svg").read_text(encoding="utf-8")),
}


def age(seconds: float) -> str:
    """As people say it: one unit, rounded down."""
    if seconds < _MINUTE:
        return f"{max(seconds, 0):.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min"
    return f"{seconds // _HOUR:.0f} h" if seconds < 2 * _DAY else f"{seconds // _DAY:.0f} days"


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(age=age, clock=clock, dollars=dollars, duration=duration)
    made.globals["counted"] = counted
    return made


_TEMPLATES = _environment()


def render(template: str, **shown: Any) -> str:
    return _TEMPLATES.get_template(template).render(**shown)


def answer(request: Request, body: str, status: int = 200) -> Response:
    """Whoever says which version they have, as live.js does, gets no second copy of it."""
    version = f'"{hashlib.sha256(body.encode()).hexdigest()[:20]}"'
    headers = {**HEADERS, "ETag": version}
    if request.headers.get("if-none-match") == version:
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, media_type="text/html; charset=utf-8")
