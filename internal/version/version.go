// Package version holds what the build stamps.
package version

// Version is the operator's version, set by the linker:
// -X banzaicloud.com/jmx-exporter-operator/internal/version.Version=v1.2.3.
var Version = "dev"
