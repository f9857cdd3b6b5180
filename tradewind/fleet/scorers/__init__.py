"""How good a site is for a request."""
