"""Pods that come and go on priced nodes that vanish: every promise of a placement in one table.

A burst says nothing of a running cluster, which decays: pods leave, nobody moves the rest, spot nodes are
taken away. Here the same drawn hours are replayed, sped up, in a simulation or on the real kube-scheduler:
alone, with Tradewind's scores, with the guide, and planned, for every preset. Measured is what is promised:
dollars, interruptions, waits, soft constraints, places.
"""
