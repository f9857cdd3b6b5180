"""How good is a node for a pod: filters and scorers, pure functions over columns.

A filter says which nodes may take the pod, a scorer how much it likes each in [0, 1]; a policy joins them
with weights, and ranking turns totals into the 0..10 of kube-scheduler. Nothing here does I/O or keeps state.
"""
