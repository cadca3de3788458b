module banzaicloud.com/jmx-exporter-operator

go 1.26.0
