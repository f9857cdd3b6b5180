"""Kubernetes' own scheduling specs, with Tradewind beside kube-scheduler: `make conformance`, no test."""
