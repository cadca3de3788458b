// Package crd embeds the CustomResourceDefinitions that the operator is built with.
package crd

import "embed"

// Bases are the manifests, one file for each kind.
//
//go:embed bases/*.yaml
var Bases embed.FS
