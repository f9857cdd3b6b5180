"""Clusters as places: what a site says of itself, and which sites take how many replicas. No I/O."""
