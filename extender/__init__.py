"""Speaks to kube-scheduler and to people: the HTTP verbs, probes, metrics, configuration, command line."""
