"""Running pods that are moved for money or safety: what may be, what is worth it, and one set at a time.

Pure: what is seen comes in, what is to be done comes out. Drain sets are those of `tradewind.planner.drains`.
"""
