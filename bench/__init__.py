"""How many pods a second a real kube-scheduler places: alone, with the emptiest extender, with Tradewind.

Every contender runs as its users run it, as a process of its own, on the control plane of the e2e tests.
"""
