module banzaicloud.com/jmx-exporter-operator/hack/offline/runc-lean

go 1.26.0
