package bundle

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/version"
	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
)

// Gather reads everything that a report has. Only if not even exporters can be read, it
// returns an error.
func Gather(ctx context.Context, c *cluster.Cluster, o Options, progress func(string, ...any)) (*Bundle, error) {
	g := &gatherer{Cluster: c, Options: o, bundle: &Bundle{}, names: names{}, users: users{}, progress: progress}
	exporters, err := c.Exporters(ctx, o.Namespace)
	if err != nil {
		return nil, err
	}
	g.versions()
	g.exporters(ctx, exporters.Items)
	g.records(ctx)
	g.events(ctx)
	g.operator(ctx)
	g.users.redact(g.bundle)
	if o.RedactNames {
		g.names.redact(g.bundle)
	}
	return g.bundle, nil
}

func (g *gatherer) versions() {
	g.progress("reading versions")
	versions := fmt.Sprintf("kubectl jmx: %s (%s, %s/%s)\n", version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if server, err := g.Clientset.Discovery().ServerVersion(); err != nil {
		g.bundle.omit("version of the API server", err)
	} else {
		versions += fmt.Sprintf("API server: %s\n", server.GitVersion)
	}
	g.bundle.add("versions.txt", "versions of this plugin and the API server", []byte(versions))
}

func (g *gatherer) exporters(ctx context.Context, exporters []v1alpha1.PrometheusJmxExporter) {
	g.progress("reading %d exporters", len(exporters))
	var judged strings.Builder
	for i := range exporters {
		e := &exporters[i]
		g.names.exporter(e)
		g.users.requester(e)
		fmt.Fprintf(&judged, "%s/%s: %s\n", e.Namespace, e.Name, g.judge(ctx, e))
		redactExporter(e)
	}
	g.yaml("exporters.yaml", "the PrometheusJmxExporters, spec and status, without the logs of pods", exporters)
	g.bundle.add("configurations.txt", "whether each exporter's configuration is accepted, without its content", []byte(judged.String()))
}

// judge validates the configuration of an exporter as the operator does.
func (g *gatherer) judge(ctx context.Context, e *v1alpha1.PrometheusJmxExporter) string {
	configMap := &corev1.ConfigMap{}
	if err := g.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: e.Spec.Config.ConfigMapName}, configMap); err != nil {
		return "not read: " + err.Error()
	}
	content, ok := configMap.Data[e.Spec.Config.ConfigMapKey]
	if !ok {
		return "the ConfigMap has no such key"
	}
	warnings, err := configuration.Validate([]byte(content))
	if err != nil {
		return err.Error()
	}
	if warnings != (configuration.Warnings{}) {
		return fmt.Sprintf("accepted; %+v", warnings)
	}
	return "accepted"
}

func (g *gatherer) records(ctx context.Context) {
	g.progress("reading records")
	records, err := g.Attachments(ctx, g.Options.Namespace)
	if err != nil {
		g.bundle.omit("JmxAttachments", err)
		return
	}
	for i := range records.Items {
		g.names.record(&records.Items[i])
		redact(&records.Items[i])
	}
	g.yaml("records.yaml", "the JmxAttachments: what happened in each pod", records.Items)
}

// kinds are those whose Events the operator writes or causes.
var kinds = []string{"PrometheusJmxExporter", "JmxAttachment"}

func (g *gatherer) events(ctx context.Context) {
	g.progress("reading Events")
	var events []corev1.Event
	for _, kind := range kinds {
		var list corev1.EventList
		if err := g.List(ctx, &list, client.InNamespace(g.Options.Namespace), client.MatchingFields{"involvedObject.kind": kind}); err != nil {
			g.bundle.omit("Events of a "+kind, err)
			continue
		}
		events = append(events, list.Items...)
	}
	for i := range events {
		redact(&events[i])
	}
	g.yaml("events.yaml", "the Events of exporters and records", events)
}

func (g *gatherer) operator(ctx context.Context) {
	g.progress("reading the operator's Deployment and logs")
	var deployments appsv1.DeploymentList
	err := g.List(ctx, &deployments, client.InNamespace(g.OperatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": v1alpha1.ManagedBy})
	if err != nil {
		g.bundle.omit("the operator's Deployment (name its namespace with --operator-namespace)", err)
		return
	}
	for i := range deployments.Items {
		g.names.add(deployments.Items[i].Namespace)
		redact(&deployments.Items[i])
		redactPod(&deployments.Items[i].Spec.Template)
	}
	g.yaml("operator.yaml", "the operator's Deployments, without the values of environment variables", deployments.Items)
	for i := range deployments.Items {
		g.logs(ctx, &deployments.Items[i])
	}
}
