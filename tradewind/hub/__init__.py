"""`tradewind fleet`: Karmada's bindings and clusters, watched and written."""
