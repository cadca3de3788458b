// Package monitoring tests the alerts of config/prometheus with Prometheus' own tool.
package monitoring
