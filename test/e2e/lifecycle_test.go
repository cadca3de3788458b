//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// goesOn is the sample's exporter, for tests in which containers and JVMs exit.
const goesOn = "manifests/lifecycle/exporter.yaml"

// The operator may die between any two lines: this test kills it with SIGKILL while agents
// are loaded. No other feature runs at the same time.
func TestOperatorKilled(t *testing.T) {
	namespace, applications, feature := running(t, "killed", 10, 10, "manifests/killed/app.yaml")
	testenv.Test(t, feature.
		Assess("the operator is killed while ten pods are in progress", suite.KilledMidway(namespace, 10, rules, exporter)).
		Assess("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 10, port)).
		Assess("each agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}

// A JVM that exits in a running container, of which the API shows nothing, is detected by
// its health check, and the next JVM is served; so is that of a container that restarts.
func TestJVMReplaced(t *testing.T) {
	namespace, applications, feature := running(t, "replaced", 1, 1, "manifests/lifecycle/loop.yaml")
	t.Parallel()
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, goesOn)).
		WithSetup("the JVM is served", jvms.Served(1, 1)).
		WithSetup("the application is unchanged", applications.Untouched()).
		Assess("the JVM exits", jvms.End("dummyapp")).
		Assess("the missing endpoint is detected", funcs.OperatorSays(namespace, "health check failed")).
		Assess("the next JVM is served", funcs.All(
			jvms.ServedAnew(1, 1),
			jvms.On(map[string][]int32{"dummyapp": {port}}),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the agent was loaded once into it", funcs.LoadedOnce(namespace)).
		Assess("the container was not restarted", funcs.Restarted(namespace, 0)).
		Assess("the container exits together with its JVM", funcs.ContainerEnds(namespace, "sh")).
		Assess("the record is about the new container", funcs.Follows(namespace, 1)).
		Assess("another JVM runs", funcs.All(funcs.Running(namespace, 1, 1), applications.Remember())).
		Assess("the pod is served", funcs.All(
			jvms.Served(1, 1),
			jvms.On(map[string][]int32{"dummyapp": {port}}),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the agent was loaded once into the new JVM", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the container was restarted only by this test", funcs.Restarted(namespace, 1)).
		Feature())
}

// If the operator cannot reach the pod over the network, its helper probes the endpoint
// from within, and the condition reports that. A health check cannot detect a replaced JVM
// there; the pod becoming ready again triggers the inspection.
func TestJVMReplacedBehindFilter(t *testing.T) {
	t.Parallel() // before the application begins, which is not ready for long
	namespace, applications, feature := running(t, "kept-out", 1, 1, "manifests/lifecycle/ready.yaml")
	jvms := funcs.JVMsBehindFilter(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("the operator is kept out of the pod", funcs.OperatorKeptOut(namespace)).
		WithSetup("an exporter", funcs.Apply(namespace, rules, goesOn)).
		Assess("the JVM is served", jvms.Served(1, 1)).
		Assess("the record says where the endpoint was probed from", funcs.ConditionTrue(namespace, v1alpha1.PhaseExposed, "inside the pod", "NetworkPolicy")).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the JVM exits", jvms.End("dummyapp")).
		Assess("the next JVM is served", funcs.All(
			jvms.ServedAnew(1, 1),
			jvms.On(map[string][]int32{"dummyapp": {port}}),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the agent was loaded once into it", funcs.LoadedOnce(namespace)).
		Assess("the container was not restarted", funcs.Restarted(namespace, 0)).
		Feature())
}

// Pods are replaced one by one: each has its own JmxAttachment, and no endpoint refers to a
// deleted pod. Pods that terminate soon after an attach do not halt the rollout.
func TestRollout(t *testing.T) {
	namespace, applications, feature := running(t, "rolled", 2, 2, "manifests/lifecycle/before.yaml")
	t.Parallel()
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the JVMs are served", jvms.Served(2, 2)).
		WithSetup("the applications are unchanged", applications.Untouched()).
		Assess("the Deployment is rolled out", funcs.Apply(namespace, "manifests/lifecycle/after.yaml")).
		Assess("the new pods are served and no endpoint refers to an old one", funcs.All(
			jvms.ServedInNewPods(2, 2),
			funcs.Annotated(namespace, "app=dummyapp", "example.com/template", "2"),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the agent was loaded once into each", funcs.LoadedOnce(namespace)).
		Assess("no container was restarted", funcs.Restarted(namespace, 0)).
		Feature())
}

// A pod that is recreated under its name is another pod.
func TestStatefulSet(t *testing.T) {
	namespace, applications, feature := running(t, "stateful", 1, 1, "manifests/lifecycle/statefulset.yaml")
	t.Parallel()
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the JVM is served", jvms.Served(1, 1)).
		WithSetup("the application is unchanged", applications.Untouched()).
		Assess("db-0 is deleted, and its record with it", funcs.PodDeleted(namespace)).
		Assess("another db-0 runs", funcs.All(funcs.Running(namespace, 1, 1), applications.Remember())).
		Assess("the new pod is served, with its own record", funcs.All(
			jvms.ServedInNewPods(1, 1),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the agent was loaded once into it", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("no container was restarted", funcs.Restarted(namespace, 0)).
		Feature())
}

// The older exporter keeps a pod; the younger reports its name, and takes the pod over when
// the older is deleted.
func TestTwoExporters(t *testing.T) {
	namespace, applications, feature := running(t, "two-exporters", 1, 1, java17)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("its pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		WithSetup("a second passes", funcs.AnotherSecond(namespace, funcs.Exporter)).
		Assess("the younger exporter names the pod's owner", funcs.All(
			funcs.Apply(namespace, "manifests/two-exporters/younger.yaml"),
			funcs.ExporterCondition(namespace, "younger", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonPodsRefused,
				v1alpha1.ReasonPodClaimed, funcs.Exporter),
			funcs.ExporterTold(namespace, "younger", corev1.EventTypeWarning, v1alpha1.ReasonPodsRefused))).
		Assess("the older exporter keeps the pod", funcs.All(
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.LoadedOnce(namespace))).
		Assess("the older exporter is deleted and the younger takes over the pod", funcs.All(
			funcs.HandedOver(namespace, "younger", funcs.Delete(namespace, exporter)),
			funcs.AllAnnotated(namespace, "younger", 1, 9401),
			funcs.LoadedOnce(namespace))).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
