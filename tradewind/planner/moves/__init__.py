"""Running pods that are moved so that nodes become empty: what may be, what pays, and one set at a time.

Pure: what is seen comes in, what is to be done comes out. Drain sets are those of `tradewind.planner.drains`.
"""
