"""One file for each command: `add` declares its arguments and what runs."""
