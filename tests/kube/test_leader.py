"""What a candidate refuses to be; how it leads is shown on a real API server in e2e/test_lease.py."""

import asyncio
from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration

from tests.kube.api_server import ApiServer, Reply, serving
from tradewind.errors import TradewindError
from tradewind.kube.leader import Leader


@pytest.mark.parametrize(
    ("identity", "seconds"),
    [
        pytest.param("", {}, id="nobody"),
        pytest.param("a", {"renew": 15.0}, id="leads until the very moment that another may"),
        pytest.param("a", {"renew": 2.0}, id="no time for a second try"),
        pytest.param("a", {"retry": 0.0}, id="asks without a pause"),
        pytest.param("a", {"duration": float("nan")}, id="no number"),
    ],
)
def test_a_candidate_that_could_not_lead_safely_is_refused(identity: str, seconds: dict[str, Any]) -> None:
    with pytest.raises(TradewindError, match=r"0 < retry < renew < duration"):
        Leader(ApiClient(Configuration()), "default", "lease", identity, **seconds)


def test_nobody_leads_before_the_start() -> None:
    leader = Leader(ApiClient(Configuration()), "default", "lease", "a")
    assert not leader.leading
    leader.stop()


def spec(holder: str, **fields: Any) -> Reply:
    lease = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    return Reply(body={"metadata": {"resourceVersion": "1"}, "spec": lease | fields})


def after_a_round(*replies: Reply) -> Leader:
    """A candidate, as one look at the Lease and perhaps one claim leave it."""
    server = ApiServer(*replies)

    async def go() -> Leader:
        async with serving(server):
            leader = Leader(ApiClient(Configuration(host=server.url)), "shop", "lease", "a")
            await asyncio.to_thread(leader._attempt, leader._round)
            leader.stop()
            return leader

    return asyncio.run(go())


@pytest.mark.parametrize(
    ("replies", "leading", "follows"),
    [
        pytest.param([spec("b")], False, True, id="another leads"),
        pytest.param([Reply(404), spec("a")], True, False, id="no Lease: created"),
        pytest.param([Reply(404), Reply(409)], False, False, id="another was faster, and was not seen yet"),
        pytest.param([spec(""), spec("a")], True, False, id="given up: taken"),
        pytest.param([Reply(503, "down")], False, False, id="nobody can tell"),
        pytest.param([spec("b", leaseDurationSeconds=0.5)], False, False, id="a Lease that makes no sense"),
    ],
)
def test_a_candidate_leads_or_follows_or_neither(replies: list[Reply], leading: bool, follows: bool) -> None:
    leader = after_a_round(*replies)
    assert (leader.leading, leader.follows) == (leading, follows)


def test_who_is_unfit_neither_renews_nor_claims() -> None:
    """The Lease runs out for the others, and our own lead with it."""
    server = ApiServer(Reply(404), spec("a"), spec("a"), spec("b"), spec("b"))
    unfit = ""

    async def go() -> None:
        nonlocal unfit
        async with serving(server):
            api = ApiClient(Configuration(host=server.url))
            leader = Leader(api, "shop", "lease", "a", unfit=lambda: unfit)
            await asyncio.to_thread(leader._attempt, leader._round)
            until = leader._leading_until
            assert leader.leading
            unfit = "loop planning: late"
            await asyncio.to_thread(leader._attempt, leader._round)
            assert leader._leading_until == until
            assert leader.trouble == "neither claimed nor renewed: loop planning: late"
            await asyncio.to_thread(leader._attempt, leader._round)  # another has claimed it
            assert leader.follows
            leader._seen_at -= 15  # which is gone as well
            await asyncio.to_thread(leader._attempt, leader._round)
            assert leader._leading_until < until
            leader.stop()

    asyncio.run(go())
    assert [asked.method for asked in server.asked] == ["GET", "POST", "GET", "GET", "GET"]


def test_whom_it_follows_must_give_signs_of_life() -> None:
    leader = after_a_round(spec("b"))
    leader._seen_at -= 14.9
    assert leader.follows
    leader._seen_at -= 0.1
    assert not leader.follows


def test_a_missing_namespace_is_named_with_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    missing = Reply(404, 'namespaces "shop" not found')
    leader = after_a_round(missing, missing)
    assert leader.trouble == (
        'namespace shop does not exist: create it with "kubectl create namespace shop", '
        "or choose another with --namespace"
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"Lease shop/lease: {leader.trouble}; retrying every 2 s"
    ]


def test_the_same_failure_is_logged_once_and_another_again(caplog: pytest.LogCaptureFixture) -> None:
    replies = [
        Reply(503, "first"),
        Reply(503, "second"),
        Reply(403, "third"),
        spec("b"),
        Reply(403, "fourth"),
    ]
    server = ApiServer(*replies)

    async def go() -> None:
        async with serving(server):
            leader = Leader(ApiClient(Configuration(host=server.url)), "shop", "lease", "a")
            for _ in replies:
                await asyncio.to_thread(leader._attempt, leader._round)
            leader.stop()

    asyncio.run(go())
    said = [record.getMessage().split("; ")[0] for record in caplog.records]
    assert said == [f"Lease shop/lease: the API server answers {what}" for what in _LOGGED]


_LOGGED = ("503: first", "403: third", "403: fourth")
