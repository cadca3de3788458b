// Package monitoring tests the files for Prometheus and Grafana, with Prometheus' own tools.
package monitoring
