"""Which sites may take a request."""
