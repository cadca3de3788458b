package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// a fleet is an exporter with several pods.
type fleet struct {
	*cluster
	o        *operator
	pods     []*corev1.Pod
	exporter *v1alpha1.PrometheusJmxExporter
}

// aFleet returns a fleet of this many pods, two on each node.
func aFleet(t *testing.T, n int, how func(*v1alpha1.Rollout)) *fleet {
	t.Helper()
	f := &fleet{cluster: newCluster(t)}
	f.o = f.operate()
	for i := range n {
		pod := aPod(fmt.Sprintf("app-%d", i))
		pod.pod.Spec.NodeName = fmt.Sprintf("node-%d", 1+i/2)
		f.pods = append(f.pods, f.run(pod))
	}
	f.configure(rules)
	f.exporter = f.anExporter("exporter")
	if how != nil {
		f.exporter.Spec.Rollout = v1alpha1.Rollout{RestartWindow: &metav1.Duration{Duration: time.Minute}}
		how(&f.exporter.Spec.Rollout)
	}
	create(t, f.exporter)
	return f
}

// aFleetWith returns app-0, and app-1 with a second container; both have been Annotated
// for some time.
func aFleetWith(t *testing.T, container string, jvms ...*jvm) (*fleet, *story) {
	t.Helper()
	f := aFleet(t, 1, nil)
	f.pods = append(f.pods, f.run(aPod("app-1").container(container, jvms...)))
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	return f, &story{f.cluster, f.pods[1], f.exporter}
}

// are returns the phase of each pod.
func (f *fleet) are() []string {
	f.t.Helper()
	var are []string
	for _, pod := range f.pods {
		are = append(are, phaseOf(f.attachment(pod)))
	}
	return are
}

func (f *fleet) expect(when string, want ...string) {
	f.t.Helper()
	f.o.settle()
	if diff := cmp.Diff(want, f.are()); diff != "" {
		f.t.Errorf("%s: phases (-want +got):\n%s", when, diff)
	}
}

// asked returns the number of configurations that were to be loaded in each pod.
func (f *fleet) asked() string {
	f.t.Helper()
	var asked []string
	for _, pod := range f.pods {
		asked = append(asked, fmt.Sprint(len(f.jvm(pod).Asked)))
	}
	return strings.Join(asked, " ")
}

func (f *fleet) expectAsked(when, want string) {
	f.t.Helper()
	f.o.settle()
	if got := f.asked(); got != want {
		f.t.Errorf("%s: configurations per pod: got %s, want %s", when, got, want)
	}
}

// sums returns Updated, Ready and Stalled of the exporter.
func (f *fleet) sums() string {
	f.t.Helper()
	get(f.t, f.exporter)
	reason := func(kind string) string {
		c := meta.FindStatusCondition(f.exporter.Status.Conditions, kind)
		return fmt.Sprintf("%s %s %s", kind, c.Status, c.Reason)
	}
	return fmt.Sprintf("%d/%s, %s, %s", f.exporter.Status.Updated, f.exporter.Status.Pods, reason("Ready"), reason("Stalled"))
}

func (f *fleet) expectSums(when, want string) {
	f.t.Helper()
	if got := f.sums(); got != want {
		f.t.Errorf("%s: status of the exporter: got %q, want %q", when, got, want)
	}
}

// portsOf returns the ports of a pod in EndpointSlices.
func (f *fleet) portsOf(pod *corev1.Pod) string {
	f.t.Helper()
	var ports []string
	for endpoint := range strings.SplitSeq(f.endpoints(f.exporter), ", ") {
		if port, ok := strings.CutPrefix(endpoint, fmt.Sprintf("%s %s:", pod.Name, pod.Status.PodIP)); ok {
			ports = append(ports, port)
		}
	}
	return strings.Join(ports, " ")
}

const (
	isAnnotated = "Annotated"
	isPending   = "JavaFound RolloutPending"
	changed     = "lowercaseOutputName: true\n" + rules
	// The syntax is valid; the JVM rejects the pattern.
	badPattern = "rules: [{pattern: 'java.lang<(type'}]"
)
