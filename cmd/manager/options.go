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
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// options are the command line.
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

// parse reads the command line, and exits where it is wrong.
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

// read sets the options from the command line; ExitOnError deals with unknown flags.
func read(args []string) (*options, *flag.FlagSet) {
	o := &options{}
	flags := flag.NewFlagSet("manager", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.Func("namespace", "the `namespaces` to work in, separated by commas or each with a flag of its own; all if empty", func(names string) error {
		if names != "" {
			o.Namespaces = append(o.Namespaces, strings.Split(names, ",")...)
		}
		return nil
	})
	flags.StringVar(&o.helpers, "helpers", "/helpers", "`folder` with the helper's binaries, jmx-attach-amd64 and jmx-attach-arm64")
	flags.StringVar(&o.agent, "agent", "/agent", "`folder` with the agent's jars, agent.jar and exporter.jar")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8443", "`address` of the operator's own /metrics; 0 serves none")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", true, "serve /metrics over TLS, to who is authenticated by the API server and may get the path; false serves everybody in plain HTTP")
	flags.StringVar(&o.MetricsCertificate.Dir, "metrics-cert-path", "", "`folder` with the certificate of /metrics, which is read again when it changes; a self-signed one is made if empty")
	flags.StringVar(&o.MetricsCertificate.Cert, "metrics-cert-name", "tls.crt", "`file` of the certificate in --metrics-cert-path")
	flags.StringVar(&o.MetricsCertificate.Key, "metrics-cert-key", "tls.key", "`file` of the certificate's key in --metrics-cert-path")
	flags.BoolVar(&o.metricsNames, "metrics-names", false, "have the names of namespaces and exporters as labels in the metrics")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz")
	flags.BoolVar(&o.LeaderElect, "leader-elect", true, "let one of several replicas work, the others wait")
	flags.StringVar(&o.LeaderNamespace, "leader-election-namespace", "", "`namespace` of the lease; where the pod runs if empty")
	flags.IntVar(&o.Concurrent, "concurrent-attachments", 96, "`number` of pods worked on at once; more than four times --max-execs")
	flags.IntVar(&o.execs, "max-execs", 16, "`number` of execs at once, in all; beside them, up to twice as many wait for containers that do not respond")
	flags.IntVar(&o.execsPerNode, "max-execs-per-node", 5, "`number` of execs at once on one node, of which a namespace has the same part as of all")
	flags.IntVar(&o.execsPerNamespace, "max-execs-per-namespace", 12, "`number` of execs at once in one namespace")
	flags.DurationVar(&o.HealthCheckInterval, "health-check-interval", 10*time.Second, "`time` between two HTTP requests that check an endpoint, to detect a JVM that was replaced while its container keeps running; 0 disables them")
	flags.StringVar((*string)(&o.Transport), "transport", string(v1alpha1.TransportAuto), "`transport` that the operator may use, whatever an exporter asks for: Exec, EphemeralContainer, or Auto for both")
	flags.StringVar(&o.door.Image, "door-image", "", "`image` of the ephemeral containers that are added to pods without a shell; the operator's own if empty")
	flags.DurationVar(&o.door.Idle, "door-idle", 15*time.Minute, "`time` without a session after which such an ephemeral container ends; 0 keeps it until its target exits")
	flags.BoolVar(&o.Protection.AllowKubeSystem, "allow-kube-system", false, "attach to pods in the namespace kube-system, too")
	flags.BoolVar(&o.Protection.AllowOwnNamespace, "allow-own-namespace", false, "attach to pods in the namespace that the operator itself runs in, too")
	flags.BoolVar(&o.Protection.AllowPrivileged, "allow-privileged", false, "attach to privileged containers, too")
	flags.BoolVar(&o.Protection.AllowHostPID, "allow-host-pid", false, "attach to pods that share the process IDs of their node (hostPID), too")
	flags.BoolVar(&o.Protection.AllowHostNetwork, "allow-host-network", false, "attach to pods that share the network of their node (hostNetwork), too: the metrics are served on the node's addresses")
	flags.BoolVar(&o.RequireRulesLabel, "require-rules-label", false, "use only ConfigMaps that have the label "+v1alpha1.LabelRules+", which config/tenants protects")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	o.zap.BindFlags(flags)
	if err := flags.Parse(args); err != nil { // ExitOnError has dealt with it
		os.Exit(2)
	}
	return o, flags
}

// check returns what is wrong with the values.
func (o *options) check() error {
	for name, n := range map[string]int{
		"concurrent-attachments": o.Concurrent, "max-execs": o.execs, "max-execs-per-node": o.execsPerNode, "max-execs-per-namespace": o.execsPerNamespace,
	} {
		if n < 1 {
			return fmt.Errorf("--%s=%d: must be 1 or more", name, n)
		}
	}
	for _, namespace := range o.Namespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			return fmt.Errorf("--namespace=%s: %q is not the name of a namespace", strings.Join(o.Namespaces, ","), namespace)
		}
	}
	// Each session and each probe keeps a worker: what needs none finds one also while all
	// others hang.
	if workers := transport.WorkersPerPlace * o.execs; o.Concurrent <= workers {
		return fmt.Errorf("--concurrent-attachments=%d: must be more than %d, %d times --max-execs: so many pods can wait for containers that do not respond, and for endpoints that do not answer", o.Concurrent, workers, transport.WorkersPerPlace)
	}
	if o.HealthCheckInterval < 0 {
		return fmt.Errorf("--health-check-interval=%s: must be 0 or more", o.HealthCheckInterval)
	}
	if !slices.Contains([]v1alpha1.Transport{v1alpha1.TransportAuto, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer}, o.Transport) {
		return fmt.Errorf("--transport=%s: must be Auto, Exec or EphemeralContainer", o.Transport)
	}
	// What fails is tried again after that long at most, and should find the door open:
	// each one more stays in the pod's spec.
	if o.door.Idle < 0 || o.door.Idle > 0 && o.door.Idle <= statemachine.MaxBackoff {
		return fmt.Errorf("--door-idle=%s: must be 0, or more than %s", o.door.Idle, statemachine.MaxBackoff)
	}
	return nil
}

// logger writes to a stream that people look at in a terminal: names and errors from
// elsewhere are data in it.
func (o *options) logger(to io.Writer) logr.Logger {
	o.zap.DestWriter = terminal.Writer(to)
	return zap.New(zap.UseFlagOptions(&o.zap))
}
