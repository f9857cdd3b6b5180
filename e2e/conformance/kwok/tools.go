//go:build tools

// Package kwok pins the program that plays kubelet on the nodes of the conformance run; nothing imports it.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
