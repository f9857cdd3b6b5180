"""Names of ours on objects of the cluster."""

ANNOTATION_PREFIX = "tradewind.dev/"
PLAN = ANNOTATION_PREFIX + "plan"

# On a pod: it is not to be held. The second is its first name.
HOLD_OPT_OUTS = (ANNOTATION_PREFIX + "hold", ANNOTATION_PREFIX + "plan-hold")

# Of a pod these are read. Anybody who may create pods may write others, which tell no two pods apart.
POD_ANNOTATIONS = frozenset(
    {
        *HOLD_OPT_OUTS,
        PLAN,
        *(
            ANNOTATION_PREFIX + name
            for name in (
                "beside",
                "conflicts",
                "disk-type",
                "disk-type-policy",
                "durable-min",
                "durable-share",
                "durable-strict",
                "gang",
                "gang-min",
                "max-per-zone",
                "min-available",
                "min-available-probability",
                "move",
                "network-type",
                "network-type-policy",
                "node",
                "node-labels",
                "one-per-node",
                "replaces",
                "workload-class",
                "xor",
            )
        ),
    }
)
# Characters: a longer value is as good as none.
MAX_POD_ANNOTATION = 1024
# Of pods that an annotation may speak of: as many as Kubernetes supports in a cluster.
MAX_PODS = 150_000
