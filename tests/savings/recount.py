"""The figures of `tradewind savings -o json` once more, from the raw objects and with none of its code."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any

Object = Mapping[str, Any]
_UNITS = {unit: Fraction(size) for unit, size in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("", 1))}
_UNITS = {"m": Fraction(1, 1000), **_UNITS}
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_OPT_OUTS = {"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


class Recount:
    def __init__(
        self, objects: Iterable[Object], told: Object, overruled: Collection[str] = frozenset()
    ) -> None:
        """`overruled` are kinds of pods that --move moves too."""
        kinds: dict[str, list[Object]] = defaultdict(list)
        for each in objects:
            kinds[each["kind"]].append(each)
        self.nodes = {each["metadata"]["name"]: each for each in kinds["Node"]}
        self.pods = {_name(each): each for each in kinds["Pod"]}
        self.budgets = kinds["PodDisruptionBudget"]
        self.volumes = {each["metadata"]["name"]: each for each in kinds["PersistentVolume"]}
        self.claims = {_name(each): each for each in kinds["PersistentVolumeClaim"]}
        self.overruled = overruled
        self.told = told
        self.emptied = [each["node"] for each in told["emptied"]]
        self.sets = [
            each
            for key in ("emptied", "emptiedCordoned", "emptiedForWaitingPods")
            for each in told.get(key, ())
        ]
        self.moves = {pod: to for each in self.sets for pod, to in each["moves"].items()}
        self.idle = told.get("emptyOrCordoned", ())
        self.before = {name: each["spec"].get("nodeName", "") for name, each in self.pods.items()}
        self.after = {**self.before, **told["placements"], **self.moves}

    def wrong(self, prices: Mapping[str, float] | None) -> list[str]:
        """What is not as it should be; `prices` by node, None where there are none."""
        return [*self._parts(), *self._moves(), *self._rooms(), *self._rules(), *self._money(prices)]

    def misplaced(self) -> list[str]:
        """Pods where they cannot be."""
        return [*self._rooms(), *self._rules()]

    def _parts(self) -> Iterable[str]:
        parts = [
            *self.emptied,
            *self.idle,
            *(name for s in self.told["stay"] for name in s["nodes"]),
        ]
        if sorted(parts) != sorted(self.nodes):
            yield "the parts are not all nodes, each once"
        in_use = {
            at
            for name, at in self.after.items()
            if at and not self.of_node(name) and "deletionTimestamp" not in self.pods[name]["metadata"]
        }
        for name in (*self.emptied, *self.idle):
            if name in in_use:
                yield f"{name} is not empty"
        for name in self.idle:
            cordoned = self.nodes[name]["spec"].get("unschedulable") if "spec" in self.nodes[name] else False
            occupied = {at for pod, at in self.before.items() if not self.of_node(pod)}
            if name in occupied and not cordoned:
                yield f"{name} was neither empty nor cordoned"

    def _moves(self) -> Iterable[str]:
        replicas = Counter(self._owner(name) for name in self.pods if self._runs(name))
        for each in self.sets:
            on = {n for n, at in self.before.items() if at == each["node"] and self._runs(n)}
            on = {name for name in on if not self.of_node(name)}
            if set(each["moves"]) != on:
                yield f"{each['node']} is not emptied whole"
        for name in self.moves:
            pod = self.pods[name]
            annotations = pod["metadata"].get("annotations") or {}
            if any(annotations.get(key) == value for key, value in _OPT_OUTS.items()):
                yield f"{name} has opted out"
            yield from self._volumes_kept(name, pod)
            kind = self._owner(name)[0]
            if not kind or (kind == "Job" and "job" not in self.overruled):
                yield f"{name} is bare or of a Job"
            if kind != "Job" and replicas[self._owner(name)] < 2 and "single-replica" not in self.overruled:
                yield f"{name} is a single replica"
            for budget in self.budgets:
                wanted = budget["spec"]["selector"]["matchLabels"].items()
                if wanted <= pod["metadata"]["labels"].items() and not budget["status"]["disruptionsAllowed"]:
                    yield f"{name} is within a budget of none"

    def _volumes_kept(self, name: str, pod: Object) -> Iterable[str]:
        """As Karpenter and cluster-autoscaler do; a claim moves only if asked for, and if its volume can."""
        of_karpenter = "karpenter.sh/nodepool" in self.nodes[self.before[name]]["metadata"]["labels"]
        for volume in pod["spec"].get("volumes", ()):
            local = "hostPath" in volume or volume.get("emptyDir", {}).get("medium", "Memory") != "Memory"
            local |= volume.get("emptyDir") == {}
            if local and not of_karpenter and "local-storage" not in self.overruled:
                yield f"{name} has local storage"
            if "persistentVolumeClaim" in volume and "volume-claim" not in self.overruled:
                yield f"{name} has a claim"
        zones = self._zones_of_volumes(pod)
        if zones is None:
            yield f"{name} has a volume of which nothing is known"
        elif zones and self._zone(self.after[name]) not in zones:
            yield f"{name} is away from its volume"

    def _zones_of_volumes(self, pod: Object) -> set[str] | None:
        """Empty where there is no volume; None where one is not known."""
        found: set[str] = set()
        for volume in pod["spec"].get("volumes", ()):
            if "persistentVolumeClaim" not in volume:
                continue
            namespace, name = pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"]
            claim = self.claims.get(f"{namespace}/{name}")
            if claim is None or claim["spec"]["volumeName"] not in self.volumes:
                return None
            affinity = self.volumes[claim["spec"]["volumeName"]]["spec"]["nodeAffinity"]["required"]
            [term] = affinity["nodeSelectorTerms"]
            found.update(term["matchExpressions"][0]["values"])
        return found

    def _runs(self, name: str) -> bool:
        pod = self.pods[name]
        return bool(self.before[name]) and "deletionTimestamp" not in pod["metadata"]

    def forgotten(self) -> Iterable[str]:
        """Waiting pods without a place for which some node, saved or not, has one."""
        taken: dict[str, Counter[str]] = defaultdict(Counter)
        for name, at in self.after.items():
            if at:
                taken[at].update(_requests(self.pods[name]))
        for name, at in self.after.items():
            pod = self.pods[name]
            if at or "deletionTimestamp" in pod["metadata"]:
                continue
            for node in self.nodes:
                if self._accepts(node, name) and all(
                    taken[node][each] + amount <= _quantity(self._allocatable(node).get(each, "0"))
                    for each, amount in _requests(pod).items()
                ):
                    yield f"{name} waits, and fits on {node}"
            if name not in self.told["unplaced"] and name not in self.told["pools"]:
                yield f"{name} waits, and nobody says so"

    def _allocatable(self, node: str) -> Object:
        found: Object = self.nodes[node]["status"]["allocatable"]
        return found

    def _accepts(self, node: str, name: str) -> bool:
        spec, pod = self.nodes[node].get("spec", {}), self.pods[name]
        if spec.get("unschedulable") or (spec.get("taints") and not pod["spec"].get("tolerations")):
            return False
        zones = self._zones_of_volumes(pod)
        if zones and self._zone(node) not in zones:
            return False
        app = pod["metadata"]["labels"].get("app")
        beside = [
            at
            for each, at in self.after.items()
            if at and self.pods[each]["metadata"].get("labels", {}).get("app") == app
        ]
        if "affinity" in pod["spec"]:
            return node not in beside
        if "topologySpreadConstraints" in pod["spec"]:
            # Nodes that the pod does not tolerate count as kube-scheduler has it: taints do not matter.
            counts = Counter(dict.fromkeys((self._zone(each) for each in self.nodes), 0))
            running = [
                self.after[each]
                for each in self.after
                if self.after[each]
                and self.pods[each]["metadata"].get("labels", {}).get("app") == app
                and "deletionTimestamp" not in self.pods[each]["metadata"]
            ]
            counts.update(map(self._zone, running))
            return counts[self._zone(node)] + 1 - min(counts.values()) <= 1
        return True

    def _rooms(self) -> Iterable[str]:
        taken: dict[str, Counter[str]] = defaultdict(Counter)
        for name, at in self.after.items():
            if at:
                taken[at].update(_requests(self.pods[name]))
        for name in set(self.after.values()) - {""}:
            allocatable = self.nodes[name]["status"]["allocatable"]
            for resource, amount in taken[name].items():
                if amount > _quantity(allocatable.get(resource, "0")):
                    yield f"{name} has too little {resource}"

    def _rules(self) -> Iterable[str]:
        """Anti-affinity and spread over the replicas themselves, as the drawn clusters have them."""
        by_app: dict[str, list[str]] = defaultdict(list)
        for name, pod in self.pods.items():
            if "deletionTimestamp" not in pod["metadata"]:
                by_app[pod["metadata"].get("labels", {}).get("app", "")].append(name)
        for app, names in by_app.items():
            spec = self.pods[names[0]]["spec"]
            nodes = [self.after[name] for name in names if self.after[name]]
            if "affinity" in spec and len(set(nodes)) < len(nodes):
                yield f"two of {app} share a node"
            if "topologySpreadConstraints" in spec:
                zones = {self._zone(name) for name in self.nodes}
                before = [self._zone(self.before[name]) for name in names if self.before[name]]
                if _skew(map(self._zone, nodes), zones) > max(1, _skew(before, zones)):
                    yield f"{app} is not spread"

    def _money(self, prices: Mapping[str, float] | None) -> Iterable[str]:
        told = self.told
        counts = {part: told[part]["nodes"] for part in ("now", "after", "saved")}
        gone = len(self.emptied) + len(self.idle)
        wanted = {"now": len(self.nodes), "after": len(self.nodes) - gone, "saved": len(self.emptied)}
        if counts != wanted:
            yield f"nodes: {counts}"
        if prices is None:
            if any(told[part]["hourlyCost"] is not None for part in counts):
                yield "dollars without prices"
            return
        now = sum(prices.values())
        saved = sum(prices[name] for name in self.emptied)
        idle = sum(prices[name] for name in self.idle)
        stay = sum(each["hourlyCost"] for each in told["stay"])
        after = now - saved - idle
        parts = (("now", now), ("saved", saved), ("savedByAnyAutoscaler", idle), ("after", after))
        for part, amount in parts:
            if abs(told[part]["hourlyCost"] - amount) > 1e-5:
                yield f"{part}: {told[part]['hourlyCost']}, not {amount}"
        if abs(stay - after) > 1e-4:
            yield f"what stays costs {after}, its parts {stay}"
        if not 0 <= after <= now:
            yield "more than the bill"
        bounds = told["lowerBound"]
        for bound in (bounds["withinLimits"], bounds["everyPodMoved"]):
            if bound is not None and bound > after + 1e-4:
                yield f"the bound {bound} is above what was found"
        yield from self._workloads(prices)

    def _workloads(self, prices: Mapping[str, float]) -> Iterable[str]:
        """Each node's price by the pods' largest shares of it; the rest was asked for by nobody."""
        costs: dict[str, Fraction] = defaultdict(Fraction)
        leaving: dict[str, Fraction] = defaultdict(Fraction)
        pods: Counter[str] = Counter()
        on: dict[str, list[tuple[str, Fraction]]] = defaultdict(list)
        for pod, at in self.before.items():
            if at:
                on[at].append((self._workload(pod), self._share(pod)))
        for name, price in prices.items():
            whole = max(sum((share for _, share in on[name]), Fraction()), Fraction(1))
            parts = [(workload, share / whole) for workload, share in on[name]]
            pods.update(workload for workload, _ in parts)
            parts.append(("requested by nobody", 1 - sum((share for _, share in parts), Fraction())))
            for workload, share in parts:
                costs[workload] += Fraction(price) * share
                goes = name in self.emptied or name in self.idle
                leaving[workload] += Fraction(price) * share * goes
        told = {each["name"]: each for each in self.told["workloads"]}
        if told.keys() != costs.keys() or len(told) != len(self.told["workloads"]):
            yield f"workloads: {sorted(told.keys() ^ costs.keys())}"
            return
        for name, each in told.items():
            if each["pods"] != pods[name]:
                yield f"{name} has {pods[name]} pods, not {each['pods']}"
            if abs(each["hourlyCost"] - costs[name]) > 1e-5:
                yield f"{name} costs {float(costs[name])}, not {each['hourlyCost']}"
            if abs(each["hourlyCostOnNodesThatGo"] - leaving[name]) > 1e-5:
                yield f"of {name} {float(leaving[name])} can go, not {each['hourlyCostOnNodesThatGo']}"

    def _share(self, pod: str) -> Fraction:
        allocatable = self.nodes[self.before[pod]]["status"]["allocatable"]
        wanted = _requests(self.pods[pod]).items()
        return max(
            (amount / _quantity(allocatable[each]) for each, amount in wanted if each != "pods"),
            default=Fraction(),
        )

    def _workload(self, pod: str) -> str:
        owners = self.pods[pod]["metadata"].get("ownerReferences")
        namespace = pod.partition("/")[0]
        return f"{owners[0]['kind']} {namespace}/{owners[0]['name']}" if owners else f"Pod {pod}"

    def of_node(self, name: str) -> bool:
        return self._owner(name)[0] in {"DaemonSet", "Node"}

    def _owner(self, name: str) -> tuple[str, str]:
        owners = self.pods[name]["metadata"].get("ownerReferences") or [{}]
        return owners[0].get("kind", ""), owners[0].get("uid", "")

    def _zone(self, node: str) -> str:
        return str(self.nodes[node]["metadata"]["labels"].get(_ZONE, ""))


def _name(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def _requests(pod: Object) -> dict[str, Any]:
    wanted: dict[str, Fraction] = defaultdict(Fraction, pods=Fraction(1))
    for container in pod["spec"]["containers"]:
        for resource, quantity in container["resources"].get("requests", {}).items():
            wanted[resource] += _quantity(quantity)
    return dict(wanted)


def _quantity(text: str) -> Fraction:
    unit = next(unit for unit in _UNITS if text.endswith(unit))
    return Fraction(text.removesuffix(unit)) * _UNITS[unit]


def _skew(zones: Iterable[str], of_nodes: Iterable[str]) -> int:
    """`of_nodes` are those that a pod could be in."""
    counts = Counter(dict.fromkeys(of_nodes, 0))
    counts.update(zones)
    return max(counts.values()) - min(counts.values())
