"""What is there: Kubernetes objects turned into columns.

Objects come from list+watch or from a file, are decoded into the few fields that placement needs, kept in
one cache, and handed out as immutable snapshots. This room knows nothing of prices, rules or HTTP.
"""
