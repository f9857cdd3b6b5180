"""A real control plane for tests and benchmarks: found or built, started, filled with fake nodes, stopped.

Nothing here is part of the service; the service is started as its users start it, as a process of its own.
"""
