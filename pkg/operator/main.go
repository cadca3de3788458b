package operator

import (
	"flag"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Main is the main function of an operator: it parses the flags, those that the caller
// defined included, runs the operator against the current kubeconfig or in its pod until
// a signal arrives, and exits with 1 after an error.
func Main(o Operator) {
	metrics := flag.String("metrics-bind-address", "0", "address that the metrics endpoint binds to, such as :8080; 0 disables it")
	health := flag.String("health-probe-bind-address", ":8081", "address that /healthz and /readyz bind to")
	leaderElect := flag.Bool("leader-elect", false, "elect a leader, so that only one of several replicas is active")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(o, ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: *metrics},
		HealthProbeBindAddress: *health,
		LeaderElection:         *leaderElect,
	}); err != nil {
		ctrl.Log.Error(err, "the operator exited")
		os.Exit(1)
	}
}

func run(o Operator, options ctrl.Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := NewManager(config, o, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
