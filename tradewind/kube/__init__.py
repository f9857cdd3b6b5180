"""The API server: lists, watches, writes, Leases and Events, with one mapping of what can go wrong."""
