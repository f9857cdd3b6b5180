"""The command line. One file for each command: `add` declares its arguments and what runs."""
