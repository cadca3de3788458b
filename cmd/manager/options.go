package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// options are the command-line options.
type options struct {
	manager.Options
	helpers, agent      string
	metricsNames        bool
	execs, execsPerNode int
	execsPerNamespace   int
	door                transport.DoorOptions
	version             bool
	zap                 zap.Options
}

const usage = `The JMX exporter operator attaches the Prometheus JMX exporter to Java processes
that already run in pods, without a restart.

It is meant to run in a cluster (config/default deploys it). To try a build from
a shell, against the current context of the kubeconfig:

  manager --leader-elect=false --helpers=bin --agent=bin/agent

Flags:
`

// parse parses the command line, and exits if it is invalid.
func parse(args []string) *options {
	o, flags := read(args)
	if flags.NArg() > 0 {
		fmt.Fprintf(flags.Output(), "unexpected argument %q; see manager --help\n", flags.Arg(0))
		os.Exit(2)
	}
	if err := o.check(); err != nil {
		fmt.Fprintln(flags.Output(), err)
		os.Exit(2)
	}
	return o
}

// read sets the options from the command line; ExitOnError handles unknown flags.
func read(args []string) (*options, *flag.FlagSet) {
	o := &options{}
	flags := flag.NewFlagSet("manager", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.Func("namespace", "`namespaces` to watch, separated by commas or in repeated flags; all namespaces if empty", func(names string) error {
		if names != "" {
			o.Namespaces = append(o.Namespaces, strings.Split(names, ",")...)
		}
		return nil
	})
	flags.StringVar(&o.helpers, "helpers", "/helpers", "`directory` of the helper binaries jmx-attach-amd64 and jmx-attach-arm64")
	flags.StringVar(&o.agent, "agent", "/agent", "`directory` of the agent jars agent.jar and exporter.jar")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "`address` that the operator's own /metrics endpoint binds to; 0 disables it")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve /metrics over TLS, with authentication and authorization by the API server; false serves plain HTTP to anybody")
	flags.StringVar(&o.MetricsCertificate.Dir, "metrics-cert-path", "", "`directory` of the TLS certificate for /metrics, reloaded when it changes; a self-signed certificate is generated if empty")
	flags.StringVar(&o.MetricsCertificate.Cert, "metrics-cert-name", "tls.crt", "`file` name of the certificate in --metrics-cert-path")
	flags.StringVar(&o.MetricsCertificate.Key, "metrics-cert-key", "tls.key", "`file` name of the private key in --metrics-cert-path")
	flags.BoolVar(&o.metricsNames, "metrics-names", false, "label metrics with the names of namespaces and exporters")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "`address` that /healthz and /readyz bind to")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "elect a leader, so that only one of several replicas is active")
	flags.StringVar(&o.LeaderNamespace, "leader-election-namespace", "", "`namespace` of the leader election Lease; the pod's own if empty")
	flags.IntVar(&o.Shard.Total, "total-shards", 1, "`number` of operators, up to 8, that share the namespaces of the cluster, each with a Lease of its own; each has its own limits and its own cache of the whole cluster")
	flags.IntVar(&o.Shard.Index, "shard", 0, "zero-based `index` of this operator among --total-shards")
	flags.IntVar(&o.Concurrent, "concurrent-attachments", 96, "maximum `number` of concurrently reconciled pods; must be more than four times --max-execs")
	flags.IntVar(&o.execs, "max-execs", 16, "maximum `number` of concurrent execs; up to twice as many more may wait for containers that do not respond")
	flags.IntVar(&o.execsPerNode, "max-execs-per-node", 5, "maximum `number` of concurrent execs per node, of which one namespace may use the fraction --max-execs-per-namespace / --max-execs")
	flags.IntVar(&o.execsPerNamespace, "max-execs-per-namespace", 12, "maximum `number` of concurrent execs per namespace")
	flags.DurationVar(&o.HealthCheckInterval, "health-check-interval", 10*time.Second, "`interval` of HTTP health checks of an endpoint, which detect a JVM that was replaced while its container keeps running; 0 disables them")
	flags.StringVar((*string)(&o.Transport), "transport", string(v1alpha1.TransportAuto), "`transport` that the operator may use, regardless of spec.transport: Node, Exec, EphemeralContainer, or Auto for all")
	flags.StringVar(&o.door.Image, "door-image", "", "`image` of the ephemeral containers added to pods without a shell; the operator's own image if empty")
	flags.DurationVar(&o.door.Idle, "door-idle", 15*time.Minute, "`duration` without a session after which such an ephemeral container exits; 0 keeps it running until its target exits")
	o.Protection.BindFlags(flags)
	flags.BoolVar(&o.RequireRulesLabel, "require-rules-label", false, "use only ConfigMaps with the label "+v1alpha1.LabelRules+", which config/tenants protects")
	flags.IntVar(&o.MaxExporters, "max-exporters-per-namespace", 500, "maximum `number` of exporters of a namespace, the oldest first; nothing new is attached for others. 0 for no limit")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	o.zap.BindFlags(flags)
	if err := flags.Parse(args); err != nil { // ExitOnError has dealt with it
		os.Exit(2)
	}
	return o, flags
}

// check returns an error for invalid values.
func (o *options) check() error {
	for name, n := range map[string]int{
		"concurrent-attachments": o.Concurrent, "max-execs": o.execs, "max-execs-per-node": o.execsPerNode, "max-execs-per-namespace": o.execsPerNamespace,
	} {
		if n < 1 {
			return fmt.Errorf("--%s=%d: must be 1 or more", name, n)
		}
	}
	if err := o.checkShard(); err != nil {
		return err
	}
	for _, namespace := range o.Namespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			return fmt.Errorf("--namespace=%s: %q is not the name of a namespace", strings.Join(o.Namespaces, ","), namespace)
		}
	}
	// Each session and each probe occupies a worker. Reconciles that need neither must
	// find a worker even if all others hang.
	if workers := transport.WorkersPerPlace * o.execs; o.Concurrent <= workers {
		return fmt.Errorf("--concurrent-attachments=%d: must be more than %d (%d times --max-execs), the number of pods that can wait for unresponsive containers and endpoints", o.Concurrent, workers, transport.WorkersPerPlace)
	}
	if o.MaxExporters < 0 {
		return fmt.Errorf("--max-exporters-per-namespace=%d: must be 0 or more", o.MaxExporters)
	}
	if o.HealthCheckInterval < 0 {
		return fmt.Errorf("--health-check-interval=%s: must be 0 or more", o.HealthCheckInterval)
	}
	if !slices.Contains([]v1alpha1.Transport{v1alpha1.TransportAuto, v1alpha1.TransportNode, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer}, o.Transport) {
		return fmt.Errorf("--transport=%s: must be Auto, Node, Exec or EphemeralContainer", o.Transport)
	}
	// Failures are retried after that long at most, and should find the ephemeral
	// container still running: each additional one stays in the pod's spec.
	if o.door.Idle < 0 || o.door.Idle > 0 && o.door.Idle <= statemachine.MaxBackoff {
		return fmt.Errorf("--door-idle=%s: must be 0, or more than %s", o.door.Idle, statemachine.MaxBackoff)
	}
	return nil
}

// checkShard returns an error for an impossible shard, or one that nothing keeps apart from
// others.
func (o *options) checkShard() error {
	switch s := o.Shard; {
	case s.Total < 1 || s.Total > shard.Max:
		return fmt.Errorf("--total-shards=%d: must be from 1 to %d", s.Total, shard.Max)
	case s.Index < 0 || s.Index >= s.Total:
		return fmt.Errorf("--shard=%d: must be from 0 to %d, since --total-shards=%d", s.Index, s.Total-1, s.Total)
	case s.Total > 1 && !o.LeaderElect:
		return fmt.Errorf("--total-shards=%d: needs --leader-elect, whose Leases keep operators with another number of shards apart", s.Total)
	}
	return nil
}

// logger writes to a stream that may be displayed in a terminal, so it escapes names and
// errors from elsewhere.
func (o *options) logger(to io.Writer) logr.Logger {
	o.zap.DestWriter = terminal.Writer(to)
	return zap.New(zap.UseFlagOptions(&o.zap))
}
