"""One file for each filter."""
