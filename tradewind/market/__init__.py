"""What a node costs and how likely it is to vanish."""
