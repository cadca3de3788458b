// Manager runs the operator.
package main

import (
	"flag"

	"banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/internal/controller"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

func main() {
	image := flag.String("consumer-image", "pulsar-consumer:dev", "image of the application if a PulsarConsumer names none")
	operator.Main(controller.Operator(image))
}
