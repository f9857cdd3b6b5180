//go:build tools

// Package programs pins the programs that the tests run; nothing imports it.
package programs

import (
	_ "github.com/rhysd/actionlint/cmd/actionlint"
	_ "helm.sh/helm/v3/cmd/helm"
)
