"""The standing plan: where all pods of the cluster, those to come included, would best be just now."""
