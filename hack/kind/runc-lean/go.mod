module banzaicloud.com/jmx-exporter-operator/hack/kind/runc-lean

go 1.26.0
