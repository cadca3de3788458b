module banzaicloud.com/jmx-exporter-operator/hack/image/pause

go 1.26.0
