"""What is followed beside the cluster state."""

import asyncio

import pytest

from tradewind.runtime import assembly
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import EXAMPLES, from_file


def test_what_is_followed_beside_the_files_goes_on_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "_FILES_INTERVAL_SECONDS", 0.001)
    parts, looks = Assembly(from_file(EXAMPLES / "cluster.json"), None), list[str]()

    def look() -> None:
        """Like certificates that cannot be read for a while."""
        looks.append(parts.heartbeats.missed())
        if len(looks) == 1:
            raise RuntimeError("not now")
        if len(looks) == 3:
            raise KeyboardInterrupt  # what ends a process

    async def go() -> None:
        async with asyncio.timeout(60):
            await parts.follow_files(look)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(go())
    assert looks == [""] * 3
