import pytest

from tests.builders import PodBuilder, pod

_HASH = "pod-template-hash"


@pytest.mark.parametrize(
    ("built", "workload"),
    [
        pytest.param(pod("alone"), "", id="no controller"),
        pytest.param(
            pod("p").owner("ReplicaSet", "web-5d4f", "u").label(_HASH, "5d4f"),
            "Deployment default/web",
            id="of a Deployment",
        ),
        pytest.param(
            pod("p").namespace("shop").owner("ReplicaSet", "web-5d4f", "u").label(_HASH, "5d4f"),
            "Deployment shop/web",
            id="in its namespace",
        ),
        pytest.param(
            pod("p").owner("ReplicaSet", "web-5d4f", "u").label(f"rollouts-{_HASH}", "5d4f"),
            "Rollout default/web",
            id="of an Argo Rollout",
        ),
        pytest.param(
            pod("p").owner("ReplicaSet", "web-5d4f", "u"),
            "ReplicaSet default/web-5d4f",
            id="a ReplicaSet of its own",
        ),
        pytest.param(
            pod("p").owner("ReplicaSet", "web-5d4f", "u").label(_HASH, "7777"),
            "ReplicaSet default/web-5d4f",
            id="another's hash",
        ),
        pytest.param(
            pod("p").owner("ReplicaSet", "-5d4f", "u").label(_HASH, "5d4f"),
            "ReplicaSet default/-5d4f",
            id="nothing but a hash",
        ),
        pytest.param(
            pod("p").owner("StatefulSet", "db-5d4f", "u").label(_HASH, "5d4f"),
            "StatefulSet default/db-5d4f",
            id="no ReplicaSet",
        ),
        pytest.param(pod("p").owner("Job", "nightly", ""), "Job default/nightly", id="from a file, no UID"),
    ],
)
def test_workload_of_a_pod(built: PodBuilder, workload: str) -> None:
    assert built.build().workload == workload
