"""A fleet on real Karmada: two members with their own kube-schedulers, Tradewind as the hub's scheduler."""

import itertools
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e import fake, objects, toolchain
from e2e.api import Api, ApiError
from e2e.karmada_plane import Fleet, Hub, Member
from e2e.objects import Object
from e2e.outcomes import NotSeenError
from e2e.tradewind import Service
from tradewind.cli.main import main
from tradewind.fleet.ledger import Promise, read_ledger
from tradewind.fleet.partitions import home_of, partition_of
from tradewind.fleet.placement import Placement
from tradewind.fleet.summary import Summary, read_summary
from tradewind.hub.records import FLEET_LABEL

_SECONDS = 60.0
_MANIFESTS = Path(__file__).parents[1] / "manifests" / "fleet"
_PRICE_ALONE = {
    "price": 1, "stability": 0, "centroid": 0, "equivalence": 0, "energy": 0, "health": 0, "locality": 0
}  # fmt: skip
_SETTINGS = {"unplacedSeconds": 2, "weights": _PRICE_ALONE}
_MOVE_SECONDS = 4


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    try:
        started = Fleet("cheap", "dear")
    except toolchain.BuildError as error:
        pytest.skip(f"Karmada's programs could not be built: {error}")
    try:
        _populate(started)
        yield started
    finally:
        started.stop()


def _populate(fleet: Fleet) -> None:
    """cheap: two nodes of 2 cores; dear: four nodes of 3 cores, at three times the price of a core."""
    hub = fleet.hub
    hub.kubectl("apply", "-f", str(_MANIFESTS / "sites.yaml"), "-f", str(_MANIFESTS / "hub.yaml"))
    hub.start_controller_manager()
    sizes = {"cheap": (2, "2", 0.1), "dear": (4, "3", 0.45)}
    for name, (count, cpu, price) in sizes.items():
        member = fleet.members[name]
        fake.add_nodes(member.api, [objects.node(f"{name}-{i}", cpu=cpu, price=price) for i in range(count)])
        hub.join(member, region=name, provider="fake")
        _publish(hub, member)


def _publish(hub: Hub, member: Member) -> None:
    _apply_rights(member)
    token = fake.service_account_token(member.api, "tradewind-system", "tradewind-site")
    user = f"tradewind:site:{member.name}"
    Service(
        hub.workspace,
        "site",
        f"site-{member.name}",
        flags={
            "--kubeconfig": member.token_kubeconfig("tradewind-site", token),
            "--hub-kubeconfig": _credentials(hub, user, "tradewind:sites"),
        },
        settings={"fleet": {"site": {"name": member.name, "publishSeconds": 0.5}}},
        environment=None,
    )


def _apply_rights(member: Member) -> None:
    """Both manifests are valid; nothing of them runs on the fake nodes, only the rights count."""
    scheduler, site = str(_MANIFESTS / "scheduler" / "deployment.yaml"), str(_MANIFESTS / "site.yaml")
    member.kubectl("apply", "-f", site)
    member.kubectl("delete", "deployment", "tradewind-site", "-n", "tradewind-system")
    member.kubectl("apply", "--dry-run=server", "-f", scheduler)


def _credentials(hub: Hub, user: str, group: str) -> Path:
    """A kubeconfig by the commands of docs/fleet.md, word for word."""
    page = (_MANIFESTS.parents[1] / "docs" / "fleet.md").read_text(encoding="utf-8")
    block = page.partition("```sh\n")[2].partition("```")[0]
    function, _, _ = block.partition("\ncredentials tradewind-fleet")
    directory = hub.workspace.directory / user.replace(":", "-")
    directory.mkdir()
    (directory / "ca.crt").write_bytes(hub.authority.cert.read_bytes())
    hub.authority.write_key(directory / "ca.key")
    path = f"{hub.programs.kubectl.parent}:{os.environ['PATH']}"
    subprocess.run(
        ["/bin/bash", "-ec", f"{function}\ncredentials {user} {group} hub.kubeconfig"],
        cwd=directory,
        env={"PATH": path, "HUB": hub.server},
        check=True,
        capture_output=True,
    )
    return directory / "hub.kubeconfig"


@pytest.fixture(scope="module")
def scheduler(fleet: Fleet) -> Service:
    service = Service(
        fleet.hub.workspace,
        "fleet",
        "fleet",
        flags={"--kubeconfig": _credentials(fleet.hub, "tradewind-fleet", "tradewind:fleet")},
        settings={"fleet": _SETTINGS},
        environment=None,
    )
    service.wait_metric("tradewind_fleet_sites", 2, state="usable", seconds=_SECONDS)
    return service


def _policy(name: str, scheduler: str, **placement: Any) -> Object:
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": scheduler, "resourceSelectors": [selector], "placement": placement},
    }


_DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
_AGGREGATED = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
}


@pytest.fixture
def deploy(fleet: Fleet, scheduler: Service) -> Iterator[Callable[..., str]]:
    """A Deployment with a policy; gone, with its pods, after the test."""
    del scheduler  # it has to run
    names = []

    def deploy(
        name: str, replicas: int, *, cpu: str = "1", scheduler: str = "tradewind", **placement: Any
    ) -> str:
        names.append(name)
        fleet.hub.api.create(_policy(name, scheduler, **(placement or _DIVIDED)))
        fleet.hub.api.create(objects.deployment(name, "default", replicas=replicas, cpu=cpu, memory="64Mi"))
        return name

    yield deploy
    for name in names:
        fleet.hub.api.delete(f"/apis/apps/v1/namespaces/default/deployments/{name}")
        fleet.hub.api.delete(
            f"/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/{name}"
        )
    alive = [member for member in fleet.members.values() if member.alive]
    _eventually(lambda: all(not _pods(member, name) for member in alive for name in names), "pods are left")


def _pods(member: Member, app: str) -> list[Object]:
    found: list[Object] = member.api.read("/api/v1/namespaces/default/pods", labelSelector=f"app={app}")[
        "items"
    ]
    return found


def _binding(fleet: Fleet, name: str) -> Object:
    where = f"/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/{name}-deployment"
    try:
        return fleet.hub.api.read(where)
    except ApiError:
        return {}


def _clusters(fleet: Fleet, name: str) -> Mapping[str, int]:
    targets = _binding(fleet, name).get("spec", {}).get("clusters", [])
    return {target["name"]: target.get("replicas", 0) for target in targets}


def _running(fleet: Fleet, name: str) -> Mapping[str, int]:
    counts = {each.name: each.running("default", name) for each in fleet.members.values() if each.alive}
    return {site: count for site, count in counts.items() if count}


def _condition(fleet: Fleet, name: str) -> Object:
    conditions = _binding(fleet, name).get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "Scheduled"), {})


def _observed(fleet: Fleet, name: str) -> bool:
    """Our word that this is the answer; pods may run before it is written."""
    binding = _binding(fleet, name)
    said = binding.get("status", {}).get("schedulerObservedGeneration", 0)
    return bool(said == binding["metadata"]["generation"])


def _eventually(holds: Callable[[], bool], what: str, seconds: float = _SECONDS) -> None:
    """There is one watch for each API server: asking them all again is simpler."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise NotSeenError(what)
        time.sleep(0.1)


def _settles(fleet: Fleet, name: str, expected: Mapping[str, int]) -> None:
    try:
        _eventually(lambda: _clusters(fleet, name) == expected == _running(fleet, name), "")
    except NotSeenError:
        seen = f"{dict(_clusters(fleet, name))}, running {dict(_running(fleet, name))}"
        raise NotSeenError(f"{name} should be {expected}, it is {seen}; {_condition(fleet, name)}") from None


def test_goes_to_the_cheapest_that_holds_it_and_the_rest_to_the_next(
    fleet: Fleet, deploy: Callable[..., str]
) -> None:
    name = deploy("web", 6)
    _settles(fleet, name, {"cheap": 4, "dear": 2})
    _eventually(lambda: _observed(fleet, name), "the decision was not reported")
    assert _condition(fleet, name)["status"] == "True"
    _scale(fleet, name, 8)
    _settles(fleet, name, {"cheap": 4, "dear": 4})
    _scale(fleet, name, 3)
    _settles(fleet, name, {"cheap": 3})


def test_says_why_there_is_no_place(
    fleet: Fleet, deploy: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    name = deploy("huge", 1, cpu="16")
    said = "0/2 sites are available: 2 site(s) had no node that fits a replica"
    _eventually(lambda: _condition(fleet, name).get("message") == said, "no reason was given")
    assert _clusters(fleet, name) == {}

    def explained() -> bool:
        main(
            ["explain", "--binding", f"default/{name}-deployment", "--kubeconfig", str(fleet.hub.kubeconfig)]
        )
        told = capsys.readouterr().out
        rejected = "2 had no node that fits a replica (feasible_nodes): cheap, dear"
        return f"It has no place: {said}." in told and rejected in told

    _eventually(explained, "explain says something else")


def _scale(fleet: Fleet, name: str, replicas: int) -> None:
    fleet.hub.api.patch(
        f"/apis/apps/v1/namespaces/default/deployments/{name}", {"spec": {"replicas": replicas}}
    )


def test_figure_2_goes_right_where_the_stock_scheduler_goes_wrong(
    fleet: Fleet, deploy: Callable[..., str]
) -> None:
    """Five replicas of 3 cores: dear has four nodes of 3, cheap has 4 cores in sum and no node of 3."""
    stock = fleet.hub.start_stock_scheduler("--feature-gates=CustomizedClusterResourceModeling=false")
    try:
        wrong = deploy("stock", 5, cpu="3", scheduler="default-scheduler", **_AGGREGATED)
        _eventually(lambda: _clusters(fleet, wrong) == {"cheap": 1, "dear": 4}, "the stock scheduler saw it")
        _eventually(lambda: _running(fleet, wrong) == {"dear": 4}, "the four that fit do not run")
        _eventually(lambda: len(_pods(fleet.members["cheap"], wrong)) == 1, "no pod came")
        assert _pods(fleet.members["cheap"], wrong)[0]["status"]["phase"] == "Pending"
        _scale(fleet, wrong, 0)
        members = fleet.members.values()
        _eventually(lambda: not any(_pods(member, wrong) for member in members), "pods are left")
    finally:
        stock.kill()
    right = deploy("ours", 5, cpu="3", **_AGGREGATED)
    _eventually(lambda: "room for 4 of 5" in _condition(fleet, right).get("message", ""), "it was placed")
    assert _clusters(fleet, right) == {}
    _scale(fleet, right, 4)
    _settles(fleet, right, {"dear": 4})


def test_a_member_writes_its_own_summary_and_nothing_else(fleet: Fleet, scheduler: Service) -> None:
    del scheduler
    member = Api(fleet.hub.user_kubeconfig("tradewind:site:cheap", ["tradewind:sites"]))
    maps = "/api/v1/namespaces/{}/configmaps"
    sites, system = maps.format("tradewind-sites"), maps.format("tradewind-system")
    own = fleet.hub.api.read(f"{sites}/site-cheap")

    def summary(name: str, annotated: str, label: str = "summary", **data: str) -> Object:
        metadata = {
            "name": name,
            "labels": {FLEET_LABEL: label},
            "annotations": {"tradewind.dev/site": annotated},
        }
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or own["data"]}

    for where, body in (
        (sites, summary("site-dear", "dear")),
        (sites, summary("site-new", "new")),
        (sites, summary("ledger-dear", "dear", "ledger")),
        (system, summary("ledger-dear", "dear", "ledger")),
        (system, summary("tradewind-fleet-partitions", "")),
    ):
        with pytest.raises(ApiError, match=r"forbidden|denied"):
            member.request("POST", where, body)
    for name, patch in (
        ("site-dear", {"data": own["data"]}),
        ("site-cheap", {"metadata": {"annotations": {"tradewind.dev/site": "dear"}}}),
        ("site-cheap", {"metadata": {"labels": {FLEET_LABEL: "ledger"}}}),
        ("site-cheap", {"data": {"more": ""}}),
    ):
        with pytest.raises(ApiError, match=r"forbidden|denied"):
            member.patch(f"{sites}/{name}", patch)
    member.patch(f"{sites}/site-cheap", {"data": own["data"]})


def _reprice(fleet: Fleet, **prices: float) -> None:
    for name, price in prices.items():
        api = fleet.members[name].api
        for node in api.read("/api/v1/nodes")["items"]:
            api.patch(
                f"/api/v1/nodes/{node['metadata']['name']}",
                {"metadata": {"annotations": {objects.PRICE: str(price)}}},
            )
    for name, price in prices.items():
        _eventually(lambda name=name, price=price: _published(fleet, name) == {price}, "no new summary")  # type: ignore[misc]


def _published(fleet: Fleet, site: str) -> set[float | None]:
    """The prices that the hub has been told."""
    return {kind.price for kind in _summary(fleet, site).kinds}


def _summary(fleet: Fleet, site: str) -> Summary:
    note = fleet.hub.api.read(f"/api/v1/namespaces/tradewind-sites/configmaps/site-{site}")
    return read_summary(note["data"]["summary"], site)


def test_prices_that_swap_move_it_after_a_while_and_nothing_is_missing_meanwhile(
    fleet: Fleet, scheduler: Service, deploy: Callable[..., str]
) -> None:
    name = deploy("mover", 2)
    _settles(fleet, name, {"cheap": 2})
    try:
        scheduler.configure({"fleet": _SETTINGS | {"moveGain": 0.05, "moveSeconds": _MOVE_SECONDS}})
        started = time.monotonic()
        _reprice(fleet, cheap=1.0, dear=0.15)
        least = 2

        def decided() -> bool:
            nonlocal least
            least = min(least, sum(_running(fleet, name).values()))
            return _clusters(fleet, name) == {"dear": 2}

        _eventually(decided, "it did not move")
        assert time.monotonic() - started >= _MOVE_SECONDS

        def moved() -> bool:
            decided()
            return _running(fleet, name) == {"dear": 2}

        _eventually(moved, "the old replicas did not go", 90)
        assert least == 2  # the old ones went when the new ones were there
        assert scheduler.metric("tradewind_fleet_moves_total") == 2
    finally:
        scheduler.configure({"fleet": _SETTINGS})
        _reprice(fleet, cheap=0.1, dear=0.45)


def _at_home_with(scheduler: str, partition: str = "") -> Iterator[str]:
    """Names of workloads: of that partition, or of one that is at home with the scheduler."""
    alive = {"one", "two"}
    for number in itertools.count():
        key = f"default/{scheduler}-{number}-deployment"
        found = partition_of(Placement(), {"cpu": 100, "memory": 64 * 2**20}, key)
        if found == partition or (not partition and home_of(found, alive) == scheduler):
            yield f"{scheduler}-{number}"


@pytest.fixture
def windmills(fleet: Fleet) -> Iterator[tuple[Service, Service]]:
    """Two of another name, who live until what they took is free again: the next test needs the room."""

    def start(name: str) -> Service:
        return Service(
            fleet.hub.workspace,
            "fleet",
            f"fleet-{name}",
            flags={
                "--kubeconfig": fleet.hub.user_kubeconfig("tradewind-fleet"),
                "--scheduler-name": "windmill",
                "--lease-seconds": 4,
            },
            settings={"fleet": {"forwardGap": None}},
            environment={"POD_NAME": name},
        )

    def summaries() -> Iterator[Summary]:
        return (_summary(fleet, name) for name in fleet.members)

    one, two = start("one"), start("two")
    try:
        yield one, two
        _eventually(lambda: not _promises(fleet), "room stays promised to workloads that are gone")
        _eventually(lambda: all(map(_is_empty, summaries())), "pods that are gone are still in a summary")
    finally:
        one.kill()
        two.kill()


def _is_empty(summary: Summary) -> bool:
    return summary.free == summary.allocatable


def _promises(fleet: Fleet) -> list[Promise]:
    """Of all ledgers."""
    ledgers = fleet.hub.api.read(
        "/api/v1/namespaces/tradewind-system/configmaps", labelSelector=f"{FLEET_LABEL}=ledger"
    )["items"]
    return [each for ledger in ledgers for each in read_ledger(ledger["data"]["ledger"]).promises]


def test_busy_partitions_move_to_an_idle_scheduler_and_its_death_loses_nothing(
    fleet: Fleet, windmills: tuple[Service, Service], deploy: Callable[..., str]
) -> None:
    """All are at home with one; the mapper gives some to two, and one has them again when two is killed."""
    one, two = windmills
    names: list[str] = []

    def deployed(count: int, source: Iterator[str]) -> None:
        wanted = itertools.islice(source, count)
        names.extend(deploy(name, 1, cpu="100m", scheduler="windmill") for name in wanted)

    def placed(service: Service) -> float:
        return service.metric("tradewind_fleet_decisions_total", outcome="placed")

    for service in (one, two):
        service.wait_metric("tradewind_fleet_schedulers", 2, seconds=_SECONDS)
    deployed(10, _at_home_with("one"))
    for service in (one, two):
        service.wait_metric("tradewind_fleet_moved_partitions", 1, seconds=_SECONDS)
    partitions = fleet.hub.api.read(
        "/api/v1/namespaces/tradewind-system/configmaps/windmill-fleet-partitions"
    )
    moved = json.loads(partitions["data"]["homes"])
    assert set(moved.values()) == {"two"}
    before = placed(two)
    deployed(3, _at_home_with("moved", min(moved)))
    _eventually(lambda: placed(two) >= before + 3, "they were not placed by their new home")
    two.kill()
    deployed(2, _at_home_with("left", min(moved)))
    _eventually(lambda: all(map(_answered(fleet), names)), "some were lost")
    _eventually(lambda: all(sum(_running(fleet, name).values()) == 1 for name in names), "some do not run")


def _answered(fleet: Fleet) -> Callable[[str], bool]:
    return lambda name: sum(_clusters(fleet, name).values()) == 1 and _observed(fleet, name)


_DUPLICATED = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}


@pytest.mark.parametrize("which", ["default-scheduler", "tradewind"])
def test_what_runs_stays_as_with_the_stock_scheduler(
    fleet: Fleet, deploy: Callable[..., str], which: str
) -> None:
    """Both go through the same: copies everywhere, a group of clusters that is kept, and replicas at 0."""
    stock = fleet.hub.start_stock_scheduler() if which == "default-scheduler" else None
    groups = [
        {"affinityName": "primary", "clusterNames": ["absent"]},
        {"affinityName": "backup", "clusterNames": ["dear"]},
    ]
    try:
        copies = deploy(f"copies-{which[:4]}", 1, cpu="100m", scheduler=which, **_DUPLICATED)
        group = deploy(
            f"group-{which[:4]}", 1, cpu="100m", scheduler=which, clusterAffinities=groups, **_AGGREGATED
        )
        _settles(fleet, copies, {"cheap": 1, "dear": 1})
        _settles(fleet, group, {"dear": 1})
        _eventually(lambda: _affinity_of(fleet, group) == "backup", "the group in use was not reported")
        groups[0]["clusterNames"] = ["cheap"]
        _replace(fleet, group, clusterAffinities=groups, **_AGGREGATED)
        _scale(fleet, group, 2)
        _settles(fleet, group, {"dear": 2})
        _scale(fleet, copies, 0)
        _settles(fleet, copies, {})
        _eventually(lambda: _observed(fleet, copies), "the decision was not reported")
        _scale(fleet, copies, 1)
        _settles(fleet, copies, {"cheap": 1, "dear": 1})
    finally:
        if stock:
            stock.kill()


def _affinity_of(fleet: Fleet, name: str) -> str:
    """The affinity group in use; the status is written after the clusters."""
    status = _binding(fleet, name).get("status", {})
    return str(status.get("schedulerObservingAffinityName", ""))


def _replace(fleet: Fleet, name: str, **placement: Any) -> None:
    fleet.hub.api.patch(
        f"/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/{name}",
        {"spec": {"placement": placement}},
    )


def test_a_member_that_joins_later_gets_its_copies(fleet: Fleet, deploy: Callable[..., str]) -> None:
    """An object without replicas at once, a workload when there is a summary. The member stays to the end."""
    copies = deploy("copies", 1, cpu="100m", **_DUPLICATED)
    settings: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "default"},
    }
    policy = _policy("settings", "tradewind")
    policy["spec"]["resourceSelectors"][0] |= {"apiVersion": "v1", "kind": "ConfigMap"}
    fleet.hub.api.create(settings)
    fleet.hub.api.create(policy)
    _settles(fleet, copies, {"cheap": 1, "dear": 1})
    fleet.members["late"] = late = Member("late")
    fake.add_nodes(late.api, [objects.node("late-0", cpu="2", price=9.0)])
    fleet.hub.join(late, region="late", provider="fake")

    def has_settings() -> bool:
        try:
            late.api.read("/api/v1/namespaces/default/configmaps/settings")
        except ApiError:
            return False
        return True

    _eventually(has_settings, "the object without replicas did not come")
    assert _clusters(fleet, copies) == {"cheap": 1, "dear": 1}
    _publish(fleet.hub, late)
    _settles(fleet, copies, {"cheap": 1, "dear": 1, "late": 1})


_NOT_READY = "e2e.test/not-ready"
_TAINT_WHEN_SILENT: Object = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "ClusterTaintPolicy",
    "metadata": {"name": "silent"},
    "spec": {
        "addOnConditions": [
            {"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}
        ],
        "taints": [{"key": _NOT_READY, "effect": "NoExecute"}],
    },
}


def test_a_member_that_dies_loses_what_does_not_tolerate_it(fleet: Fleet, deploy: Callable[..., str]) -> None:
    """Last in this file: the member stays dead. Karmada's taint manager evicts, Tradewind places anew."""
    tolerant = {"key": _NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}
    name = deploy("survivor", 3)
    _settles(fleet, name, {"cheap": 3})
    two: Object = {"clusterAffinity": {"clusterNames": ["cheap", "dear"]}}
    patient = deploy("patient", 1, cpu="100m", **_DUPLICATED, **two, clusterTolerations=[tolerant])
    _settles(fleet, patient, {"cheap": 1, "dear": 1})
    fleet.hub.api.create(_TAINT_WHEN_SILENT)
    fleet.members["cheap"].kill_apiserver()
    _eventually(lambda: _running(fleet, name) == {"dear": 3}, "its replicas did not come back", 120)
    assert _clusters(fleet, name) == {"dear": 3}
    assert _clusters(fleet, patient) == {"cheap": 1, "dear": 1}
