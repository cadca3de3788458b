package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Every phase that the status alone can prove is persisted before the next effect
// begins, and the intent to load before the load.
func TestForward(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	pod := c.run(aPod("app-0"))
	exporter := c.export("exporter")
	var way []string
	o.fate = func(_ int, effect effects.Effect, do func() error) error {
		line := strings.ReplaceAll(fmt.Sprintf("%s %s", effect.Kind, effect.What), "jmx-exporter-operator/", "")
		if a := c.attachment(pod); a != nil {
			line = phaseOf(a) + ": " + line
			if p := a.Status.Processes; len(p) > 0 && p[0].Intent != nil {
				line = "intent, " + line
			}
		}
		way = append(way, line)
		return do()
	}
	if again := o.settle(); again != 5*time.Second {
		t.Errorf("next reconciliation of an Annotated canary: got %s, want 5s, when it is proven", again)
	}
	want := []string{
		"apply endpoints", // the Service
		"apply attachment",
		": apply exporter-status",
		": exec inspect",
		": apply attachment-status",
		"JavaFound RolloutPending: apply revisions",  // the configuration, before it is granted
		"JavaFound RolloutPending: apply attachment", // the grant
		"JavaFound RolloutPending: apply exporter-status",
		"JavaFound RolloutPending: exec inspect",
		"JavaFound RolloutPending: exec stage",
		"JavaFound RolloutPending: apply attachment-status", // with the intent
		"intent, Staged NotReached: exec load",
		"intent, Staged NotReached: http probe",
		"intent, Staged NotReached: apply attachment-status",
		"intent, Loaded EndpointPending: apply endpoints", // the slice
		"intent, Loaded EndpointPending: apply exporter-status",
		"intent, Loaded EndpointPending: apply pod-annotations",
		"intent, Loaded EndpointPending: apply attachment-status",
		"intent, Annotated: apply exporter-status",
	}
	if diff := cmp.Diff(want, way); diff != "" {
		t.Errorf("phases, reasons and effects (-want +got):\n%s", diff)
	}
	(&story{c, pod, exporter}).isAnnotated("9400")

	o.did()
	c.later(5 * time.Second)
	if again := o.settle(); again != 0 || o.count() > 0 {
		t.Errorf("an Annotated pod is reconciled again in %s, with effects %q, want never and none", again, o.did())
	}

	a, config := c.attachment(pod), transport.NewBlob("", []byte(rules), "").SHA256
	process := v1alpha1.JavaProcess{
		Container: "app", ContainerID: pod.Status.ContainerStatuses[0].ContainerID, PID: javaPID, StartTime: javaStartTime,
		UID: 1000, GID: 1000, VM: "HotSpot", Vendor: "Eclipse Adoptium", Version: "17.0.15", MainClass: "com.example.Main",
		Port: port, Primary: true, Phase: v1alpha1.PhaseExposed, AgentVersion: "1.0.0", Identity: (&story{cluster: c}).jvm(pod).Identity, ConfigSHA256: config, ImplementationSHA256: artifacts.Implementation.SHA256,
		Staged: &v1alpha1.StagedFiles{
			AgentSHA256: artifacts.Agent.SHA256, ImplementationSHA256: artifacts.Implementation.SHA256, ConfigSHA256: config,
		},
		Intent: &v1alpha1.LoadIntent{
			Port: port, ConfigSHA256: config, ImplementationSHA256: artifacts.Implementation.SHA256, Time: a.Status.Processes[0].Intent.Time,
		},
		Endpoint:     &v1alpha1.Endpoint{Address: pod.Status.PodIP, Port: port, CheckedFrom: v1alpha1.CheckedFromOperator},
		AgentLoading: v1alpha1.AgentLoadingWarnsAfterUpgrade,
	}
	if diff := cmp.Diff([]v1alpha1.JavaProcess{process}, a.Status.Processes); diff != "" {
		t.Errorf("processes in the status (-want +got):\n%s", diff)
	}
	if process.Identity == "" {
		t.Error("the agent was given no identity")
	}
	if diff := cmp.Diff([]v1alpha1.MetricsEndpoint{{Pod: "app-0", Container: "app", Port: port}}, exporter.Status.MetricsEndpoints); diff != "" {
		t.Errorf("status.metricsEndpoints (-want +got):\n%s", diff)
	}
	for _, phase := range v1alpha1.Phases() {
		want := 0
		if phase == v1alpha1.PhaseLoaded {
			want = 1
		}
		if events := o.events.with(string(phase)); len(events) != want || want > 0 && events[0].Type != corev1.EventTypeNormal {
			t.Errorf("%s Events: got %v, want %d of type Normal", phase, events, want)
		}
	}
}
