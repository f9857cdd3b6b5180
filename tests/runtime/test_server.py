"""A process whose background work has died must end, and say why."""

import asyncio
import logging

import pytest
from starlette.applications import Starlette

from tradewind.runtime.server import Server, serve


async def _wait() -> None:
    await asyncio.Event().wait()


async def _fail() -> None:
    await asyncio.sleep(0)
    raise ZeroDivisionError("a bug")


async def _end() -> None:
    pass


def test_background_work_that_dies_takes_the_process_down(caplog: pytest.LogCaptureFixture) -> None:
    ended: list[str] = []

    async def other() -> None:
        try:
            await _wait()
        finally:
            ended.append("other")

    async def go() -> None:
        server = Server(Starlette(), "127.0.0.1", 0)
        async with asyncio.timeout(60):
            await serve([server], [other(), _fail(), _end()], "")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        asyncio.run(go())
    assert ended == ["other"]
    (record,) = (each for each in caplog.records if each.levelno == logging.CRITICAL)
    assert record.getMessage() == "Stopping: _fail failed"
    assert record.exc_info


def test_background_work_that_is_done_ends_nothing_else() -> None:
    async def go() -> None:
        server = Server(Starlette(), "127.0.0.1", 0)
        done = asyncio.Event()

        async def stop() -> None:
            await done.wait()
            server.should_exit = True

        async def end() -> None:
            done.set()

        async with asyncio.timeout(60):
            await serve([server], [end(), stop()], "")

    asyncio.run(go())
