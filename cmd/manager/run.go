package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/internal/version"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// run connects files, cluster and manager, and runs until ctx is done.
func run(ctx context.Context, o *options) error {
	artifacts, err := transport.ReadArtifacts(o.helpers, o.agent)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w", err)
	}
	// A starting fleet causes bursts of writes; API Priority and Fairness protects the
	// server. controller-runtime's client has this limit for each kind.
	config.QPS, config.Burst = 100, 200
	config.UserAgent = "jmx-exporter-operator/" + version.Version

	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	o.IgnoreStamps = !manager.Stamps(ctrl.Log, clientset.Discovery())
	streams := metrics.CountStreams(transport.NewStreams(config, clientset.CoreV1().RESTClient()))
	limits := transport.NewLimits(o.execs, o.execsPerNode, o.execsPerNamespace)
	limits.OnWait(metrics.CountWaiting)
	exec := transport.NewExec(streams, artifacts, metrics.Seam, limits)
	ways, err := waysOf(ctx, o, config, exec)
	if err != nil {
		return err
	}
	o.Artifacts, o.Limits, o.Seam = artifacts, limits, metrics.Seam
	o.Sessions = func() attachment.Session { return transport.NewSessions(ways) }
	o.Prober = probe.NewHTTP(metrics.Seam)
	o.Logs = podlog.NewPodLogs(clientset.CoreV1(), metrics.Seam)
	o.Protection.OwnNamespace = manager.OwnNamespace()
	mgr, err := manager.New(config, o.Options)
	if err != nil {
		return err
	}
	metrics.Register(mgr.GetCache(), o.metricsNames, o.Shard, mgr.Elected())
	return mgr.Start(ctx)
}

// waysOf returns dialers only for the transports that the operator may use, so that no
// other code can bypass the restriction.
func waysOf(ctx context.Context, o *options, config *rest.Config, exec *transport.Exec) (transport.Ways, error) {
	ways := transport.Ways{}
	if o.Transport != v1alpha1.TransportEphemeralContainer {
		ways[v1alpha1.TransportExec] = exec
	}
	if o.Transport == v1alpha1.TransportExec {
		return ways, nil
	}
	pods, err := manager.NewPods(config, metrics.Seam)
	if err != nil {
		return nil, err
	}
	door := o.door
	if door.Image == "" {
		switch door.Image, err = pods.OwnImage(ctx); {
		case errors.Is(err, manager.ErrNoPod): // outside of a cluster
			ctrl.Log.Info("no ephemeral containers are added; set --door-image")
		case err != nil:
			return nil, fmt.Errorf("cannot read the operator's own image; set --door-image: %w", err)
		}
	}
	ways[v1alpha1.TransportEphemeralContainer] = transport.NewDoor(exec, pods, door)
	return ways, nil
}
