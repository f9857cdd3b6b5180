"""However many look at the page, it is rendered once in a few seconds, and one page at a time."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from tests.page.test_app import client as served
from tradewind.page.pages import Page
from tradewind.page.renders import Renders
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import EXAMPLES, from_file


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class _Rendering:
    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.at_once = 0
        self._lock = threading.Lock()

    def __call__(self, what: str) -> str:
        assert self._lock.acquire(blocking=False), "two at a time"
        try:
            self.asked[what] += 1
            return f"{what} {self.asked[what]}"
        finally:
            self._lock.release()


def _ask(renders: Renders, render: Callable[[str], str], *asked: str) -> list[str]:
    async def ask() -> list[str]:
        return await asyncio.gather(*(renders.ask(10, render, each) for each in asked))

    return asyncio.run(ask())


def test_all_who_ask_the_same_get_one_render() -> None:
    clock, render = _Clock(), _Rendering()
    renders = Renders(clock)
    assert set(_ask(renders, render, *["map", "plan"] * 6)) == {"map 1", "plan 1"}
    clock.now = 10
    assert _ask(renders, render, "map") == ["map 1"]
    clock.now = 10.1
    assert _ask(renders, render, "map") == ["map 2"]


def test_what_is_kept_is_bounded() -> None:
    render = _Rendering()
    _ask(Renders(_Clock()), render, *map(str, range(100)), "0")
    assert render.asked["0"] == 2


def test_a_render_that_fails_is_tried_again() -> None:
    def fail(what: str) -> str:
        raise ZeroDivisionError(what)

    renders = Renders(_Clock())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            _ask(renders, fail, "map")


@pytest.mark.parametrize(
    ("path", "method"),
    [
        pytest.param("/", "nodes", id="map"),
        pytest.param("/pending", "pending", id="pending pods"),
        pytest.param("/plan", "plan", id="plan"),
        pytest.param("/decisions", "stream", id="decisions"),
    ],
)
def test_a_page_is_rendered_once_for_all_who_look(
    path: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered = list[object]()
    render = getattr(Page, method)

    def counted(page: Page, *arguments: str) -> object:
        rendered.append(arguments)
        return render(page, *arguments)

    monkeypatch.setattr(Page, method, counted)
    parts = Assembly(from_file(EXAMPLES / "cluster.json"), None)
    with parts.started():
        client = served(parts)
        texts = {client.get(path).text for _ in range(6)}
    assert len(texts) == len(rendered) == 1
