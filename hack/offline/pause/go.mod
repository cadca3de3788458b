module banzaicloud.com/jmx-exporter-operator/hack/offline/pause

go 1.26.0
