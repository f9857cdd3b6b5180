"""What every process and command is made of: one composition root, an HTTP server, probes, logs."""
