"""The shipped manifests and the install guide, used as a user would, on a control plane of their own."""
