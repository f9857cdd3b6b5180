"""How large everything is in the whole benchmark, and in the quick one that only shows that it works."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Sizes:
    throughput_nodes: Sequence[int]
    throughput_pods: int | None  # None: so many that every case takes about as long
    percentages: Sequence[int]  # of nodes to score; 0 is kube-scheduler's own sampling
    burst_nodes: int
    burst_pods: int
    scale_nodes: tuple[int, int]
    scale_pairs: int
    tail_nodes: int
    tail_pairs: int
    sync_nodes: int
    sync_pods: int
    profile_nodes: int
    profile_requests: int
    runs: int


FULL = Sizes(
    throughput_nodes=(1_000, 5_000),
    throughput_pods=None,
    percentages=(0, 100),
    burst_nodes=5_000,
    burst_pods=5_000,
    scale_nodes=(1_000, 15_000),
    scale_pairs=200,
    tail_nodes=5_000,
    tail_pairs=1_000,
    sync_nodes=5_000,
    sync_pods=50_000,
    profile_nodes=5_000,
    profile_requests=1_500,
    runs=3,
)
QUICK = Sizes(
    throughput_nodes=(200,),
    throughput_pods=200,
    percentages=(0,),
    burst_nodes=200,
    burst_pods=200,
    scale_nodes=(100, 1_000),
    scale_pairs=30,
    tail_nodes=500,
    tail_pairs=150,
    sync_nodes=200,
    sync_pods=2_000,
    profile_nodes=500,
    profile_requests=300,
    runs=1,
)
