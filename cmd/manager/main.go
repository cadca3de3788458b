// Command manager is the operator: it attaches the Prometheus JMX exporter to
// the Java processes of the pods that PrometheusJmxExporters select.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/internal/version"
	"banzaicloud.com/jmx-exporter-operator/pkg/cgroup"
)

func main() {
	o := parse(os.Args[1:])
	if o.version {
		fmt.Println(version.Version) //nolint:forbidigo // asked for on the command line
		return
	}
	ctrl.SetLogger(o.logger(os.Stderr))
	log := ctrl.Log.WithName("manager")
	log.Info("starting", "version", version.Version, "namespaces", o.Namespaces)
	ctx := ctrl.SetupSignalHandler()
	go limitMemory(ctx, cgroup.MemoryLimit)
	if err := run(ctx, o); err != nil {
		log.Error(err, "manager failed")
		os.Exit(1)
	}
}
