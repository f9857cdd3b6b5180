"""Names of ours on objects of the cluster."""

ANNOTATION_PREFIX = "tradewind.dev/"
PLAN = ANNOTATION_PREFIX + "plan"
