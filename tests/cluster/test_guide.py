"""What a guide says survives its writing, and what is none is refused with a reason."""

import base64
import zlib

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import node
from tradewind.cluster.guide import Guide, GuidedKind, GuideError, Role, columns, decode, encode
from tradewind.cluster.table import NodeTable

_KIND = GuidedKind(
    bids={"cpu": 0.00002},
    needed=1,
    own_pods=2,
    roles={Role.FILL: ["a"], Role.DRAIN: ["b"]},
    targets={"web": 3.0},
)
_GUIDE = Guide(version=1, solved_at=10.0, until=55.0, kinds=[_KIND])


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def test_what_is_written_is_read() -> None:
    read = decode(encode(_GUIDE))
    assert read.kinds == [_KIND]
    assert (read.solved_at, read.until) == (10.0, 55.0)
    assert read.kind_of("b") == (_KIND, Role.DRAIN)
    assert read.kind_of("c") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "no guide", id="nothing"),
        pytest.param("%%%", "no guide", id="not base64"),
        pytest.param(base64.b64encode(b"plain").decode(), "no guide", id="not compressed"),
        pytest.param(_packed(b"[]"), "no guide", id="something else"),
        pytest.param(encode(_GUIDE)[:40], "no guide", id="cut off"),
        pytest.param(_packed(b"x" * 40_000_000), "larger than any guide", id="a bomb"),
        pytest.param(
            encode(msgspec.structs.replace(_GUIDE, version=2)), "version 2, and this is version 1", id="newer"
        ),
        pytest.param(
            encode(msgspec.structs.replace(_GUIDE, until=-1.0)), "0 or more", id="numbers that are none"
        ),
    ],
)
def test_anything_else_is_refused(text: str, reason: str) -> None:
    with pytest.raises(GuideError, match=reason):
        decode(text)


@given(st.binary(max_size=200))
def test_no_bytes_bring_it_down(data: bytes) -> None:
    with pytest.raises(GuideError):
        decode(_packed(data))


def test_one_that_is_too_large_is_not_written() -> None:
    names = [base64.b64encode(np.random.default_rng(number).bytes(30)).decode() for number in range(20_000)]
    kind = msgspec.structs.replace(_KIND, roles={Role.KEEP: names})
    with pytest.raises(GuideError, match="more than"):
        encode(msgspec.structs.replace(_GUIDE, kinds=[kind]))


def test_twelve_thousand_nodes_are_far_below_the_limit() -> None:
    kinds = [
        msgspec.structs.replace(
            _KIND, roles={Role.FILL: [f"ip-10-{k}-{n // 256}-{n % 256}.internal" for n in range(125)]}
        )
        for k in range(100)
    ]
    assert len(encode(msgspec.structs.replace(_GUIDE, kinds=kinds))) < 150_000


def test_times_and_small_changes_of_bids_are_nothing_new() -> None:
    later = msgspec.structs.replace(_GUIDE, solved_at=20.0, until=65.0)
    assert later.says_the_same_as(_GUIDE)
    near = msgspec.structs.replace(_KIND, bids={"cpu": 0.0000201})
    assert msgspec.structs.replace(_GUIDE, kinds=[near]).says_the_same_as(_GUIDE)
    far = msgspec.structs.replace(_KIND, bids={"cpu": 0.00003})
    assert not msgspec.structs.replace(_GUIDE, kinds=[far]).says_the_same_as(_GUIDE)
    other = msgspec.structs.replace(_KIND, roles={Role.FILL: ["a", "b"]})
    assert not msgspec.structs.replace(_GUIDE, kinds=[other]).says_the_same_as(_GUIDE)
    assert not _GUIDE.says_the_same_as(None)


def test_columns_by_the_rows_of_a_table() -> None:
    table = NodeTable([node(name).build() for name in ("new", "b", "a")])
    found = columns(_GUIDE, table, ["memory", "cpu"])
    np.testing.assert_array_equal(found.bids, [[np.nan, 0.0, 0.0], [np.nan, 0.00002, 0.00002]])
    assert found.drain.tolist() == [False, True, False]
    assert found.own_pods.tolist() == [0, 2, 2]
