// Manager runs the operator.
package main

import (
	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/internal/controller"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

func main() { operator.Main(controller.Operator) }
