"""A cluster from a file: what `kubectl get nodes,pods,namespaces,pv,pvc,pdb -A -o json` (or yaml) wrote.

A list, a stream of YAML documents, or both nested are read; objects of other kinds are left out.
"""

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from tradewind.cluster.budgets import Budget, read_budget
from tradewind.cluster.cache import Cache
from tradewind.cluster.karpenter import (
    GROUP,
    NodeOverlay,
    NodePool,
    Provisioning,
    in_order,
    read_node_overlay,
    read_node_pool,
)
from tradewind.cluster.objects import Namespace, Node, Pod, read_namespace, read_node, read_pod
from tradewind.cluster.volumes import Volumes, read_volume, read_volume_claim
from tradewind.errors import ClusterFileError, UnreadableObjectError

# What people run to write such a file.
DUMP = "kubectl get nodes,pods,namespaces,pv,pvc,pdb -A -o json"

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# `kubectl ... > file` in a Windows PowerShell writes UTF-16.
_ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


# Of kinds outside of the core group. Nodes and pods are of that group alone: others have nodes of their own.
_GROUPS = {"PodDisruptionBudget": "policy", "NodePool": GROUP, "NodeOverlay": GROUP}


class _Object(msgspec.Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    items: list[msgspec.Raw] | None = None


class Part(NamedTuple):
    """One object of a file."""

    place: str
    kind: str
    data: bytes | msgspec.Raw


@dataclass
class _Contents:
    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    budgets: dict[str, Budget] = field(default_factory=dict)
    volumes: Volumes = field(default_factory=Volumes)
    node_pools: list[NodePool] = field(default_factory=list)
    node_overlays: list[NodeOverlay] = field(default_factory=list)

    def add(self, part: Part) -> None:
        match part.kind:
            case "Node":
                node = read_node(part.data)
                self.nodes[node.name] = node
            case "Pod":
                pod = read_pod(part.data)
                self.pods[pod.uid] = pod
            case "Namespace":
                namespace = read_namespace(part.data)
                self.namespaces[namespace.name] = namespace
            case "PodDisruptionBudget":
                budget = read_budget(part.data)
                self.budgets[str(budget)] = budget
            case "PersistentVolume":
                volume = read_volume(part.data)
                self.volumes.volumes[volume.name] = volume
            case "PersistentVolumeClaim":
                claim = read_volume_claim(part.data)
                self.volumes.claims[str(claim)] = claim
            case "NodePool":
                pool = read_node_pool(part.data)
                self.node_pools += [pool] if pool else []
            case "NodeOverlay":
                overlay = read_node_overlay(part.data)
                self.node_overlays += [overlay] if overlay else []

    def imply_namespaces(self) -> None:
        """A dump of nodes and pods alone still has the namespaces of its pods, as the API labels them."""
        for name in {pod.namespace for pod in self.pods.values()} - self.namespaces.keys():
            self.namespaces[name] = Namespace(name=name, labels={"kubernetes.io/metadata.name": name})


def load(path: Path, cache: Cache) -> Provisioning:
    """Make the cache hold what the file holds; a file that cannot be read leaves it untouched.

    What it says of nodes that Karpenter would add is the answer.
    """
    contents = _Contents()
    for part in parts(path, _GROUPS):
        try:
            contents.add(part)
        except UnreadableObjectError as error:
            raise ClusterFileError(f"reading {path}{part.place}: {error}") from error
    contents.imply_namespaces()
    if not (contents.nodes or contents.namespaces):
        raise ClusterFileError(f"{path} holds no node, pod or namespace")
    _replace(cache, contents)
    return in_order(contents.node_pools, contents.node_overlays)


def _replace(cache: Cache, contents: _Contents) -> None:
    with cache.batch():
        for namespace in contents.namespaces.values():
            cache.apply_namespace(namespace)
        for node in contents.nodes.values():
            cache.apply_node(node)
        for pod in contents.pods.values():
            cache.apply_pod(contents.volumes.placed(pod))
        cache.retain_pods(contents.pods)
        cache.retain_nodes(contents.nodes)
        cache.retain_namespaces(contents.namespaces)
        cache.replace_budgets(contents.budgets.values())


def parts(path: Path, groups: Mapping[str, str]) -> Iterator[Part]:
    """The objects of the core group and of these others, by kind."""
    text = _text(path)
    if text.lstrip().startswith("{"):
        yield from _flatten(path, groups, Part("", "", text.encode()))
        return
    try:
        for number, document in enumerate(yaml.load_all(text, Loader=_Loader), start=1):
            if document is not None:
                yield from _flatten(
                    path, groups, Part(f", document {number}", "", msgspec.json.encode(document))
                )
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise ClusterFileError(f"{path} is neither JSON nor YAML: {error}") from error


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
        encoding = next((name for bom, name in _ENCODINGS.items() if data.startswith(bom)), "utf-8")
        return data.decode(encoding)
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterFileError(f"reading {path}: {error}") from error


def _flatten(path: Path, groups: Mapping[str, str], part: Part) -> Iterator[Part]:
    place, listed_kind, data = part
    try:
        head = msgspec.json.decode(data, type=_Object)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ClusterFileError(f"reading {path}{place or ' as JSON'}: {error}") from error
    kind = head.kind or listed_kind
    if head.items is not None:
        # The API writes the kind once, on the list: the items of a PodList are pods.
        for index, item in enumerate(head.items):
            yield from _flatten(path, groups, Part(f"{place}, item {index}", kind.removesuffix("List"), item))
    elif head.api_version is None or head.api_version.rpartition("/")[0] == groups.get(kind, ""):
        yield Part(place, kind, data)
