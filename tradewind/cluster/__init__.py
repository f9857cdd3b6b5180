"""What is there: Kubernetes objects turned into columns.

Objects come from list+watch or from a file, are decoded into the few fields that placement needs, kept in
one cache, and handed out as immutable snapshots. Prices are columns like any other: who makes
the cache says what a node costs. This room knows nothing of markets, rules or HTTP.
"""
