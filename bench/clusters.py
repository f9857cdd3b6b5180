"""A control plane with fake nodes and the namespace of the planner, for one part of the benchmark."""

import contextlib
import time
from collections.abc import Iterable, Iterator

from bench import workload
from bench.measurement import Cluster
from bench.runs import Say
from e2e import fake, manifests
from e2e.api import Api
from e2e.objects import Object
from e2e.plane import ControlPlane


def running(nodes: int, say: Say) -> contextlib.AbstractContextManager[Cluster]:
    return with_nodes(workload.nodes(nodes), say)


@contextlib.contextmanager
def with_nodes(nodes: Iterable[Object], say: Say) -> Iterator[Cluster]:
    started = time.monotonic()
    with ControlPlane() as plane, contextlib.closing(Api(plane.kubeconfig)) as api:
        count = len(fake.add_nodes(api, nodes))
        fake.create_namespace(api, manifests.NAMESPACE)
        namespace = fake.add_namespace(api, "bench")
        say(f"{count:,} nodes on a control plane of their own, in {time.monotonic() - started:.0f} s")
        yield Cluster(plane=plane, api=api, namespace=namespace)


def remove_pods(cluster: Cluster) -> None:
    """One by one, many at a time: the API server gives up a deletion of thousands in one request."""
    pods = f"/api/v1/namespaces/{cluster.namespace}/pods"
    names = [pod["metadata"]["name"] for pod in cluster.api.read(pods)["items"]]
    cluster.api.concurrently("DELETE", [(f"{pods}/{name}?gracePeriodSeconds=0", None) for name in names])
    fake.remove_pods(cluster.api, cluster.namespace)
