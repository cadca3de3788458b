package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/nodeagents"
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
	o.Artifacts, o.Limits, o.Seam = artifacts, limits, metrics.Seam
	o.Protection.OwnNamespace = manager.OwnNamespace()
	ways, err := waysOf(ctx, o, config, streams, limits)
	if err != nil {
		return err
	}
	o.Sessions = func() attachment.Session { return transport.NewSessions(ways) }
	o.Prober = probe.NewHTTP(metrics.Seam)
	o.Logs = podlog.NewPodLogs(clientset.CoreV1(), metrics.Seam)
	mgr, err := manager.New(config, o.Options)
	if err != nil {
		return err
	}
	metrics.Register(mgr.GetCache(), o.metricsNames, o.Shard, mgr.Elected())
	return mgr.Start(ctx)
}

// waysOf returns dialers only for the transports that the operator may use, so that no
// other code can bypass the restriction: with --transport=Node, there is none that executes
// anything in the pod of an application. It sets the node agents of the options.
func waysOf(ctx context.Context, o *options, config *rest.Config, streams transport.Streams, limits *transport.Limits) (transport.Ways, error) {
	uses := func(way v1alpha1.Transport) bool { return o.Transport == way || o.Transport == v1alpha1.TransportAuto }
	ways := transport.Ways{}
	if uses(v1alpha1.TransportNode) {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		agents := nodeagents.New(client, o.Protection.OwnNamespace, clock.RealClock{})
		o.NodeAgents = agents
		ways[v1alpha1.TransportNode] = transport.NewNode(streams, agents, o.Artifacts, metrics.Seam, limits)
	}
	if uses(v1alpha1.TransportExec) {
		ways[v1alpha1.TransportExec] = transport.NewExec(streams, o.Artifacts, metrics.Seam, limits)
	}
	if !uses(v1alpha1.TransportEphemeralContainer) {
		return ways, nil
	}
	door, err := doorOf(ctx, o, config, streams, limits)
	if err != nil {
		return nil, err
	}
	ways[v1alpha1.TransportEphemeralContainer] = door
	return ways, nil
}

// doorOf returns the dialer of ephemeral containers, whose sessions are execs into these.
func doorOf(ctx context.Context, o *options, config *rest.Config, streams transport.Streams, limits *transport.Limits) (*transport.Door, error) {
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
	return transport.NewDoor(transport.NewExec(streams, o.Artifacts, metrics.Seam, limits), pods, door), nil
}
