"""Price- and risk-aware placement for Kubernetes; `extender` and `scoring` stand beside it."""
