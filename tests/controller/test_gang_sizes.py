"""How large a gang is to be: by its pods, its PodGroup, its Jobs, in this order."""

import json
from typing import Any

import pytest

from tests.builders import PodBuilder, offer_of, pod
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.controller.gang_sizes import GangSizes
from tradewind.errors import ApiError, NotFoundError
from tradewind.kube.client import Client

_COMMUNITY = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/ring"


def _job(name: str) -> str:
    return f"/apis/batch/v1/namespaces/default/jobs/{name}"


class _Api(Client):
    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects
        self.read: list[str] = []
        self.written: dict[str, str] = {}

    def get(self, path: str, seconds: float = 10.0) -> bytes:
        del seconds
        self.read.append(path)
        found = self.objects.get(path)
        if isinstance(found, ApiError):
            raise found
        if found is None:
            raise NotFoundError("no such thing", 404)
        return json.dumps({"spec": found}).encode()

    def patch(self, path: str, patch: Any, seconds: float = 10.0) -> bytes:
        del seconds
        self.written[path.rpartition("/")[2]] = patch["metadata"]["annotations"][hints.GANG_MIN]
        return b""


def _member(name: str, job: str = "") -> PodBuilder:
    member = pod(name).annotation("tradewind.dev/gang", "ring")
    return member.owner("Job", job, f"uid-{job}") if job else member


def _sizes(api: _Api, *pods: PodBuilder) -> GangSizes:
    cache = Cache(offer_of)
    for each in pods:
        cache.apply_pod(each.build())
    return GangSizes(cache, api)


@pytest.mark.parametrize(
    ("objects", "size"),
    [
        pytest.param({_COMMUNITY: {"minMember": 5}}, "5", id="PodGroup of scheduler-plugins"),
        pytest.param({_job("a"): {"parallelism": 6}}, "6", id="parallelism"),
        pytest.param({_job("a"): {"parallelism": 6, "completions": 3}}, "3", id="fewer completions"),
        pytest.param({_job("a"): {"completions": 3}}, "1", id="one after another"),
        pytest.param({_job("a"): {"parallelism": 0}}, None, id="suspended"),
        pytest.param({_job("a"): {"parallelism": 6, "suspend": True}}, None, id="suspended for now"),
        pytest.param(
            {_COMMUNITY: {"minMember": 5}, _job("a"): {"parallelism": 6}}, "5", id="the group first"
        ),
        pytest.param({_job("a"): ApiError("forbidden", 403)}, None, id="may not be read"),
        pytest.param({}, None, id="nobody says"),
    ],
)
def test_who_says_how_large(objects: dict[str, Any], size: str | None) -> None:
    api = _Api(objects)
    sizes = _sizes(api, _member("x", "a"), _member("y", "a"))
    assert not sizes.ready(_member("x", "a").build())
    sizes.run()
    assert api.written == ({} if size is None else {"x": size, "y": size})
    assert sizes.ready(_member("x", "a").build())


def test_jobs_of_one_gang_add_up() -> None:
    api = _Api({_job("a"): {"parallelism": 2}, _job("b"): {"parallelism": 3}})
    _sizes(api, _member("x", "a"), _member("y", "b")).run()
    assert api.written == {"x": "5", "y": "5"}


def test_what_a_member_says_itself_is_not_looked_up_and_told_to_the_others() -> None:
    api = _Api({_COMMUNITY: {"minMember": 5}})
    _sizes(api, _member("x").annotation(hints.GANG_MIN, "3"), _member("y")).run()
    assert (api.read, api.written) == ([], {"y": "3"})


def test_a_gang_is_looked_up_once_in_a_while() -> None:
    api, now = _Api({}), [0.0]
    cache = Cache(offer_of)
    cache.apply_pod(_member("x", "a").build())
    sizes = GangSizes(cache, api, lambda: now[0])
    for now[0] in (0, 1, 59):
        sizes.run()
    assert len(api.read) == 2  # the PodGroup and the Job
    api.objects[_job("a")] = {"parallelism": 2}
    now[0] = 61
    sizes.run()
    assert api.written == {"x": "2"}


def test_pods_of_no_gang_are_ready_and_never_looked_up() -> None:
    api = _Api({})
    sizes = _sizes(api, pod("p"))
    sizes.run()
    assert sizes.ready(pod("p").build())
    assert api.read == []


@pytest.mark.parametrize(
    ("objects", "members", "size"),
    [
        pytest.param(
            {_job("a"): {"parallelism": 2}}, [_member("x", "a"), _member("y", "a")], "2", id="fewer"
        ),
        pytest.param(
            {_job("a"): {"parallelism": 4, "completions": 2}},
            [_member("x", "a"), _member("y", "a")],
            "2",
            id="fewer completions",
        ),
        pytest.param({_job("a"): {"parallelism": 4}}, [_member("x", "a")], None, id="still to come"),
        pytest.param({_job("a"): {"parallelism": 0}}, [_member("x", "a")], None, id="suspended"),
        pytest.param(
            {_job("a"): ApiError("forbidden", 403)}, [_member("x", "a")], None, id="may not be read"
        ),
        pytest.param(
            {_job("a"): {"parallelism": 2}}, [_member("x", "a"), _member("y")], None, id="one of nobody"
        ),
        pytest.param(
            {_job("a"): {"parallelism": 1}, _job("b"): {"parallelism": 2}},
            [_member("x", "a"), _member("y", "b"), _member("z", "b")],
            "3",
            id="of two Jobs",
        ),
        pytest.param(
            {"/apis/apps/v1/namespaces/default/replicasets/a": {"replicas": 1}},
            [_member("x").owner("ReplicaSet", "a", "uid-a")],
            "1",
            id="of a ReplicaSet",
        ),
    ],
)
def test_a_gang_that_lacks_members_for_a_minute_is_as_large_as_its_controllers_want(
    objects: dict[str, Any], members: list[PodBuilder], size: str | None
) -> None:
    api, now = _Api(objects), [0.0]
    cache = Cache(offer_of)
    for each in members:
        cache.apply_pod(each.annotation(hints.GANG_MIN, "4").build())
    sizes = GangSizes(cache, api, lambda: now[0])
    for now[0] in (0, 59):
        sizes.run()
    assert api.written == {}
    now[0] = 61
    sizes.run()
    names = [each.build().name for each in members]
    assert api.written == ({} if size is None else dict.fromkeys(names, size))


def test_a_gang_with_all_its_members_keeps_its_size() -> None:
    api, now = _Api({_job("a"): {"parallelism": 1}}), [0.0]
    cache = Cache(offer_of)
    for name in ("x", "y"):
        cache.apply_pod(_member(name, "a").annotation(hints.GANG_MIN, "2").build())
    sizes = GangSizes(cache, api, lambda: now[0])
    for now[0] in (0, 61):
        sizes.run()
    assert (api.read, api.written) == ([], {})
