package metrics

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// tenants is a cache with records and exporters of two namespaces.
type tenants struct{ client.Reader }

// List implements client.Reader.
func (tenants) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, namespace := range []string{"red", "blue"} {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "payroll"}
		switch list := list.(type) {
		case *v1alpha1.JmxAttachmentList:
			list.Items = append(list.Items, v1alpha1.JmxAttachment{
				ObjectMeta: meta, Spec: v1alpha1.JmxAttachmentSpec{Exporter: v1alpha1.ObjectIdentity{Name: "payroll"}},
				Status: v1alpha1.JmxAttachmentStatus{Phase: v1alpha1.PhaseStaged, Reason: "MissingModule", Conditions: []metav1.Condition{
					{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Scrapable"},
					{Type: v1alpha1.ConditionScrapeIncomplete, Status: metav1.ConditionTrue, Reason: "InvalidValue"},
					{Type: v1alpha1.ConditionScrapeExpensive, Status: metav1.ConditionFalse, Reason: "CPU"},
				}},
			}, v1alpha1.JmxAttachment{
				ObjectMeta: meta, Spec: v1alpha1.JmxAttachmentSpec{Exporter: v1alpha1.ObjectIdentity{Name: "payroll"}},
				Status: v1alpha1.JmxAttachmentStatus{Phase: v1alpha1.PhaseJavaFound, Reason: "NoSpace"},
			}, v1alpha1.JmxAttachment{
				ObjectMeta: meta, Spec: v1alpha1.JmxAttachmentSpec{Exporter: v1alpha1.ObjectIdentity{Name: "payroll"}},
				Status: v1alpha1.JmxAttachmentStatus{Phase: v1alpha1.PhaseJavaFound, Reason: "RolloutPending"},
			}, v1alpha1.JmxAttachment{
				ObjectMeta: meta, Spec: v1alpha1.JmxAttachmentSpec{Pod: v1alpha1.ObjectIdentity{Name: "terminating"}, Exporter: v1alpha1.ObjectIdentity{Name: "payroll"}},
				Status: v1alpha1.JmxAttachmentStatus{Phase: v1alpha1.PhaseExposed, Reason: "EndpointNotServing"},
			})
		case *v1alpha1.PrometheusJmxExporterList:
			list.Items = append(list.Items, v1alpha1.PrometheusJmxExporter{ObjectMeta: meta, Status: v1alpha1.PrometheusJmxExporterStatus{
				ProblemPods: []v1alpha1.ProblemPod{
					{Pod: "payroll-0", UID: "0", Container: "app", Reason: "OOMKilled"}, {Pod: "payroll-0", UID: "0", Container: "side", Reason: "OOMKilled"},
				}, ProblemPodsOmitted: 2,
				Restarts:            &v1alpha1.Restarts{Pods: []v1alpha1.RestartedPod{{Name: "payroll-0"}, {Name: "payroll-1"}}},
				Halt:                &v1alpha1.Halt{Reason: "RestartedAfterAttach"},
				Conditions:          []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "PodsRefused"}},
				CertificateNotAfter: &metav1.Time{Time: time.Unix(1800000000+int64(len(namespace)), 0)},
			}})
		}
	}
	return nil
}

// Get implements client.Reader: a pod is terminating if its name says so.
func (tenants) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if key.Name == "terminating" {
		object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	}
	return nil
}

func TestMetricsWithoutNames(t *testing.T) {
	for name, test := range map[string]struct {
		names bool
		want  string
	}{
		"names are not in metrics": {want: `
# HELP jmx_exporter_operator_attachments Number of JmxAttachments, by phase and by the reason why the next phase does not hold.
# TYPE jmx_exporter_operator_attachments gauge
jmx_exporter_operator_attachments{phase="Exposed",reason="EndpointNotServing"} 2
jmx_exporter_operator_attachments{phase="JavaFound",reason="NoSpace"} 2
jmx_exporter_operator_attachments{phase="JavaFound",reason="RolloutPending"} 2
jmx_exporter_operator_attachments{phase="Staged",reason="MissingModule"} 2
# HELP jmx_exporter_operator_attachment_conditions Number of JmxAttachments with a condition ScrapeIncomplete or ScrapeExpensive that is True, by condition and reason.
# TYPE jmx_exporter_operator_attachment_conditions gauge
jmx_exporter_operator_attachment_conditions{condition="ScrapeIncomplete",reason="InvalidValue"} 2
# HELP jmx_exporter_operator_problem_pods Number of pods that match an exporter's selector and do not run, by reason; pods beyond the limit of its status are counted as Omitted.
# TYPE jmx_exporter_operator_problem_pods gauge
jmx_exporter_operator_problem_pods{reason="OOMKilled"} 2
jmx_exporter_operator_problem_pods{reason="Omitted"} 4
# HELP jmx_exporter_operator_refused_pods Number of pods that are refused, by reason, without terminating ones.
# TYPE jmx_exporter_operator_refused_pods gauge
jmx_exporter_operator_refused_pods{reason="MissingModule"} 2
# HELP jmx_exporter_operator_failing_pods Number of pods that are retried because something is wrong, by reason, without terminating ones.
# TYPE jmx_exporter_operator_failing_pods gauge
jmx_exporter_operator_failing_pods{reason="NoSpace"} 2
# HELP jmx_exporter_operator_halted_rollouts Number of PrometheusJmxExporters whose rollout is halted, by reason.
# TYPE jmx_exporter_operator_halted_rollouts gauge
jmx_exporter_operator_halted_rollouts{reason="RestartedAfterAttach"} 2
# HELP jmx_exporter_operator_restarted_pods Number of pods in which a container exited soon after an attach or a change, which paused the rollout.
# TYPE jmx_exporter_operator_restarted_pods gauge
jmx_exporter_operator_restarted_pods 4
# HELP jmx_exporter_operator_stalled_exporters Number of PrometheusJmxExporters whose condition Stalled is True, by its reason.
# TYPE jmx_exporter_operator_stalled_exporters gauge
jmx_exporter_operator_stalled_exporters{reason="PodsRefused"} 2
# HELP jmx_exporter_operator_certificate_expiry_timestamp_seconds Time at which the certificate of an exporter's endpoints expires, in seconds since 1970: the earliest of all exporters.
# TYPE jmx_exporter_operator_certificate_expiry_timestamp_seconds gauge
jmx_exporter_operator_certificate_expiry_timestamp_seconds 1.800000003e+09
`},
		"names are labels where asked for": {names: true, want: `
# HELP jmx_exporter_operator_attachments Number of JmxAttachments, by phase and by the reason why the next phase does not hold.
# TYPE jmx_exporter_operator_attachments gauge
jmx_exporter_operator_attachments{namespace="blue",phase="Exposed",reason="EndpointNotServing"} 1
jmx_exporter_operator_attachments{namespace="blue",phase="JavaFound",reason="NoSpace"} 1
jmx_exporter_operator_attachments{namespace="blue",phase="JavaFound",reason="RolloutPending"} 1
jmx_exporter_operator_attachments{namespace="blue",phase="Staged",reason="MissingModule"} 1
jmx_exporter_operator_attachments{namespace="red",phase="Exposed",reason="EndpointNotServing"} 1
jmx_exporter_operator_attachments{namespace="red",phase="JavaFound",reason="NoSpace"} 1
jmx_exporter_operator_attachments{namespace="red",phase="JavaFound",reason="RolloutPending"} 1
jmx_exporter_operator_attachments{namespace="red",phase="Staged",reason="MissingModule"} 1
# HELP jmx_exporter_operator_attachment_conditions Number of JmxAttachments with a condition ScrapeIncomplete or ScrapeExpensive that is True, by condition and reason.
# TYPE jmx_exporter_operator_attachment_conditions gauge
jmx_exporter_operator_attachment_conditions{condition="ScrapeIncomplete",exporter="payroll",namespace="blue",reason="InvalidValue"} 1
jmx_exporter_operator_attachment_conditions{condition="ScrapeIncomplete",exporter="payroll",namespace="red",reason="InvalidValue"} 1
# HELP jmx_exporter_operator_problem_pods Number of pods that match an exporter's selector and do not run, by reason; pods beyond the limit of its status are counted as Omitted.
# TYPE jmx_exporter_operator_problem_pods gauge
jmx_exporter_operator_problem_pods{exporter="payroll",namespace="blue",reason="OOMKilled"} 1
jmx_exporter_operator_problem_pods{exporter="payroll",namespace="blue",reason="Omitted"} 2
jmx_exporter_operator_problem_pods{exporter="payroll",namespace="red",reason="OOMKilled"} 1
jmx_exporter_operator_problem_pods{exporter="payroll",namespace="red",reason="Omitted"} 2
# HELP jmx_exporter_operator_refused_pods Number of pods that are refused, by reason, without terminating ones.
# TYPE jmx_exporter_operator_refused_pods gauge
jmx_exporter_operator_refused_pods{exporter="payroll",namespace="blue",reason="MissingModule"} 1
jmx_exporter_operator_refused_pods{exporter="payroll",namespace="red",reason="MissingModule"} 1
# HELP jmx_exporter_operator_failing_pods Number of pods that are retried because something is wrong, by reason, without terminating ones.
# TYPE jmx_exporter_operator_failing_pods gauge
jmx_exporter_operator_failing_pods{exporter="payroll",namespace="blue",reason="NoSpace"} 1
jmx_exporter_operator_failing_pods{exporter="payroll",namespace="red",reason="NoSpace"} 1
# HELP jmx_exporter_operator_halted_rollouts Number of PrometheusJmxExporters whose rollout is halted, by reason.
# TYPE jmx_exporter_operator_halted_rollouts gauge
jmx_exporter_operator_halted_rollouts{exporter="payroll",namespace="blue",reason="RestartedAfterAttach"} 1
jmx_exporter_operator_halted_rollouts{exporter="payroll",namespace="red",reason="RestartedAfterAttach"} 1
# HELP jmx_exporter_operator_restarted_pods Number of pods in which a container exited soon after an attach or a change, which paused the rollout.
# TYPE jmx_exporter_operator_restarted_pods gauge
jmx_exporter_operator_restarted_pods{exporter="payroll",namespace="blue"} 2
jmx_exporter_operator_restarted_pods{exporter="payroll",namespace="red"} 2
# HELP jmx_exporter_operator_stalled_exporters Number of PrometheusJmxExporters whose condition Stalled is True, by its reason.
# TYPE jmx_exporter_operator_stalled_exporters gauge
jmx_exporter_operator_stalled_exporters{exporter="payroll",namespace="blue",reason="PodsRefused"} 1
jmx_exporter_operator_stalled_exporters{exporter="payroll",namespace="red",reason="PodsRefused"} 1
# HELP jmx_exporter_operator_certificate_expiry_timestamp_seconds Time at which the certificate of an exporter's endpoints expires, in seconds since 1970: the earliest of all exporters.
# TYPE jmx_exporter_operator_certificate_expiry_timestamp_seconds gauge
jmx_exporter_operator_certificate_expiry_timestamp_seconds{exporter="payroll",namespace="blue"} 1.800000004e+09
jmx_exporter_operator_certificate_expiry_timestamp_seconds{exporter="payroll",namespace="red"} 1.800000003e+09
`},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			registry.MustRegister(Collectors(tenants{}, test.names, shard.Shard{}, elected(true))...)
			if err := testutil.GatherAndCompare(registry, strings.NewReader(test.want)); err != nil {
				t.Error(err)
			}
		})
	}
}

// elected is the channel of a replica that was elected, or was not.
func elected(is bool) <-chan struct{} {
	c := make(chan struct{})
	if is {
		close(c)
	}
	return c
}

// unreadable is a cache whose use fails the test: it would start to read a cluster's pods.
type unreadable struct {
	client.Reader
	t *testing.T
}

// List implements client.Reader.
func (u unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	u.t.Error("the cache is read")
	return nil
}

// A replica that waits to be elected counts nothing, and keeps no cache for its metrics.
func TestMetricsOfStandby(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(Collectors(unreadable{t: t}, true, shard.Shard{}, elected(false))...)
	if err := testutil.GatherAndCompare(registry, strings.NewReader("")); err != nil {
		t.Error(err)
	}
}
