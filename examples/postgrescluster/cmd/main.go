// Manager runs the operator.
package main

import (
	"flag"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/controller"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

func main() {
	image := flag.String("image", "postgrescluster-member:dev", "image of the members if spec.image is empty; it contains PostgreSQL 15 and the program member")
	operator.Main(controller.Operator(image))
}
