import pytest

from scoring.filters.disk_type import DiskType
from scoring.filters.network_type import NetworkType
from scoring.label_preference import LabelPreference
from tests.builders import PodBuilder, cluster_of, node, pod

_DISK, _NETWORK = "tradewind.dev/disk-type", "tradewind.dev/network-type"

_NODES = cluster_of(
    [
        node("ssd").label(_DISK, "ssd").label(_NETWORK, "low-latency"),
        node("nvme").label("disktype", "NVMe"),
        node("hdd").label(_DISK, "hdd").label("disktype", "ssd"),
        node("none"),
    ]
).nodes


@pytest.mark.parametrize(
    ("rule", "wanted", "passing"),
    [
        pytest.param(DiskType(), pod("w"), "ssd nvme hdd none", id="a pod that asks for nothing"),
        pytest.param(DiskType(), pod("w").annotation(_DISK, "ssd"), "ssd", id="the first label decides"),
        pytest.param(DiskType(), pod("w").annotation(_DISK, "ssd, nvme"), "ssd nvme", id="alternatives"),
        pytest.param(DiskType(), pod("w").annotation(_DISK, "SSD"), "ssd", id="case does not matter"),
        pytest.param(
            DiskType(), pod("w").annotation(_DISK, " , "), "ssd nvme hdd none", id="no alternative at all"
        ),
        pytest.param(DiskType(), pod("w").label(_DISK, "ssd"), "ssd", id="a label of the pod"),
        pytest.param(
            DiskType(), pod("w").label(_DISK, "ssd").annotation(_DISK, "hdd"), "hdd", id="an annotation first"
        ),
        pytest.param(
            DiskType(),
            pod("w").label(_DISK, "ssd").label(_DISK + "-policy", "preferred"),
            "ssd nvme hdd none",
            id="a label's policy",
        ),
        pytest.param(DiskType(), pod("w").annotation(_DISK, "tape"), "", id="a type that no node has"),
        pytest.param(
            DiskType(labels=("disktype",)), pod("w").annotation(_DISK, "ssd"), "hdd", id="labels of one's own"
        ),
        pytest.param(
            DiskType(),
            pod("w").annotation(_DISK, "ssd").annotation(_DISK + "-policy", "preferred"),
            "ssd nvme hdd none",
            id="preferred rejects nothing",
        ),
        pytest.param(
            DiskType(policy="preferred"),
            pod("w").annotation(_DISK, "ssd").annotation(_DISK + "-policy", "required"),
            "ssd",
            id="the pod's policy goes first",
        ),
        pytest.param(
            DiskType(policy="preferred"),
            pod("w").annotation(_DISK, "ssd").annotation(_DISK + "-policy", "perhaps"),
            "ssd nvme hdd none",
            id="an unknown policy leaves the rule's",
        ),
        pytest.param(NetworkType(), pod("w").annotation(_NETWORK, "low-latency"), "ssd", id="network"),
    ],
)
def test_filter(rule: LabelPreference, wanted: PodBuilder, passing: str) -> None:
    mask = rule.feasible(wanted.build(), _NODES)
    assert [name for name, passed in zip(_NODES.names, mask, strict=True) if passed] == passing.split()


def test_score_is_one_on_a_match() -> None:
    wanted = pod("w").annotation(_DISK, "nvme").annotation(_DISK + "-policy", "preferred").build()
    assert DiskType().score(wanted, _NODES).tolist() == [0, 1, 0, 0]
    assert len(set(DiskType().score(pod("w").build(), _NODES).tolist())) == 1
