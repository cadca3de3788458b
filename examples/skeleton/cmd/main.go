// Manager runs the operator.
package main

import (
	"flag"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/internal/controller"
)

func main() {
	metrics := flag.String("metrics-bind-address", "0", "address that the metrics endpoint binds to, such as :8080; 0 disables it")
	health := flag.String("health-probe-bind-address", ":8081", "address that /healthz and /readyz bind to")
	leaderElect := flag.Bool("leader-elect", false, "elect a leader, so that only one of several replicas is active")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: *metrics},
		HealthProbeBindAddress: *health,
		LeaderElection:         *leaderElect,
	}); err != nil {
		ctrl.Log.Error(err, "the operator exited")
		os.Exit(1)
	}
}

func run(options ctrl.Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := controller.NewManager(config, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
