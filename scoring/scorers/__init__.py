"""One file for each scorer."""
