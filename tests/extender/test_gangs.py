"""Members of a gang that was placed before are placed alone."""

from collections.abc import Sequence

import pytest

from tests.builders import PodBuilder, node, pod
from tests.extender.served import Service, service
from tests.planner.cases import copies
from tradewind.cluster.finished import finished_pod
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.batch import PolicyOf
from tradewind.planner.gang_room import Stand, stand

_START = (
    pod("p")
    .requests(cpu="1")
    .annotation("tradewind.dev/gang", "ring")
    .annotation("tradewind.dev/gang-min", "4")
    .owner("Job", "train", "uid-train")
)


def _served(*pods: PodBuilder, cpu: str = "2") -> Service:
    served = service(node("a").cpu(cpu), node("b").cpu(cpu), recheck=False)
    for each in pods:
        served.cluster.cache.apply_pod(each.build())
    return served


@pytest.mark.parametrize(
    ("phases", "left"),
    [
        pytest.param(["Succeeded"] * 4, 2, id="the last two of six completions, four at a time"),
        pytest.param(["Succeeded"] * 3 + ["Failed"], 1, id="a retry of the one that failed"),
    ],
)
def test_the_tail_of_a_job_is_placed(phases: list[str], left: int) -> None:
    tail = copies(_START, "tail", left)
    served = _served(*tail)
    assert served.filter(tail[0], ["a", "b"])["NodeNames"] == []
    done = zip(copies(_START, "done", len(phases)), phases, strict=True)
    for each, phase in done:
        served.cluster.cache.apply_finished(finished_pod(each.on("a").phase(phase).build()))
    for each in tail:
        assert len(served.filter(each, ["a", "b"])["NodeNames"]) == 1


def test_the_next_run_of_a_cron_job_is_a_gang_of_its_own() -> None:
    again = copies(_START.owner("Job", "train-2", "uid-train-2"), "again", 2)
    served = _served(*again)
    served.cluster.cache.apply_finished(finished_pod(_START.on("a").phase("Succeeded").build()))
    assert served.filter(again[0], ["a", "b"])["NodeNames"] == []


def test_one_more_than_a_gang_needs_takes_no_reservation_away() -> None:
    """Five of a gang of four and room for four: once one was sent, three have theirs reserved."""
    members = copies(_START, "p", 5)
    served = _served(*members)
    assumed = served.cluster.cache.assumed
    (sent,) = served.filter(members[0], ["a", "b"])["NodeNames"]
    served.cluster.cache.apply_pod(members[0].on(sent).build())
    reserved = [each for each in members[1:] if assumed.find(each.build().uid)]
    assert len(reserved) == 3
    (last,) = [each for each in members[1:] if each not in reserved]
    served.filter(last, ["a", "b"])
    assert all(assumed.find(each.build().uid) for each in reserved)


def test_members_with_reserved_room_cost_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each binding makes another state of the cluster, in which all of the gang was placed again."""
    searched = list[int]()

    def counted(missing: Sequence[Pod], nodes: Nodes, policy_of: PolicyOf) -> Stand | None:
        searched.append(len(missing))
        return stand(missing, nodes, policy_of)

    monkeypatch.setattr("tradewind.planner.gang_room.stand", counted)
    members = copies(_START.annotation("tradewind.dev/gang-min", "8"), "p", 8)
    served = _served(*members, cpu="4")
    for each in members:
        (sent,) = served.filter(each, ["a", "b"])["NodeNames"]
        served.cluster.cache.apply_pod(pod("other").uid(f"o-{sent}").on(sent).build())
    assert searched == [8]


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(_START, id="with a gang of ours"),
        pytest.param(_START.annotation("tradewind.dev/one-per-node", "true"), id="whose place others count"),
        pytest.param(pod("p").requests(cpu="1"), id="plain"),
    ],
)
@pytest.mark.parametrize("names", [["a", "b"], ["a"]], ids=["two nodes", "one node"])
def test_nothing_is_assumed_of_pods_of_kube_schedulers_groups(member: PodBuilder, names: list[str]) -> None:
    """It asks about each of them once for each placement that it tries, and takes one of these at most."""
    one = member.field("spec", "schedulingGroup", "podGroupName", value="ring")
    served = _served(one)
    assert served.filter(one, names)["NodeNames"] == names
    assert served.scores(one, names).keys() == set(names)
    assert served.cluster.cache.assumed.find(one.build().uid) is None
