"""What ties classes of pods to each other: one module for each kind of relation."""
