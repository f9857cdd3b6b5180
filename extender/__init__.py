"""The extender's process: answers kube-scheduler over HTTP. Never imports `tradewind.controller`."""
