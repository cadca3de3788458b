//go:build e2e

package e2e

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// A pod leaves its exporter in one of four ways. Each time the agent is stopped and nothing
// of it remains; and when the pod returns it becomes Annotated by a second load, because
// the trampoline's listener in the JVM ended with the agent.
func TestTakenOut(t *testing.T) {
	t.Parallel()
	const optOut = "banzaicloud.com/jmx-exporter-opt-out"
	for _, c := range []struct {
		name  string
		out   func(namespace string) features.Func
		back  func(namespace string) features.Func
		stays map[string]string
	}{
		{
			name: "exporter-deleted",
			out:  func(n string) features.Func { return funcs.Delete(n, exporter) },
			back: func(n string) features.Func { return funcs.Apply(n, exporter) },
		},
		{
			name: "label-removed",
			out: func(n string) features.Func {
				return funcs.PatchPods(n, "somebody", `{"metadata":{"labels":{"jmx":null}}}`)
			},
			back: func(n string) features.Func {
				return funcs.PatchPods(n, "somebody", `{"metadata":{"labels":{"jmx":"on"}}}`)
			},
		},
		{
			name: "opted-out",
			out: func(n string) features.Func {
				return funcs.PatchPods(n, "somebody", `{"metadata":{"annotations":{"`+optOut+`":"true"}}}`)
			},
			back: func(n string) features.Func {
				return funcs.PatchPods(n, "somebody", `{"metadata":{"annotations":{"`+optOut+`":null}}}`)
			},
			stays: map[string]string{optOut: "true"},
		},
		{
			name: "selector-changed",
			out: func(n string) features.Func {
				return funcs.Patch(n, funcs.Exporter, `{"spec":{"labelSelector":{"jmx":"off"}}}`)
			},
			back: func(n string) features.Func {
				return funcs.Patch(n, funcs.Exporter, `{"spec":{"labelSelector":{"jmx":"on"}}}`)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			namespace, applications, feature := running(t, c.name, 1, 1, "manifests/takenout/app.yaml")
			t.Parallel()
			agents := funcs.AgentsIn(namespace)
			stays := map[string]string{"example.com/team": "orders"}
			maps.Copy(stays, c.stays)
			testenv.Test(t, feature.
				WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
				WithSetup("the exporter also selects by another label", funcs.Patch(namespace, funcs.Exporter, `{"spec":{"labelSelector":{"jmx":"on"}}}`)).
				WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
				WithSetup("the agent is recorded", agents.Remember()).
				Assess("the pod is detached", c.out(namespace)).
				Assess("the JmxAttachment is deleted", funcs.NoRecord(namespace)).
				Assess("the operator's annotations are removed, foreign ones stay", funcs.AnnotationsOnly(namespace, stays)).
				Assess("no endpoint is published", funcs.Unpublished(namespace)).
				Assess("an Event reports that the agent was stopped", funcs.Told(namespace, corev1.EventTypeNormal, "Detached")).
				Assess("nothing of the agent remains", suite.Stopped(agents, 1)).
				Assess("the application is unchanged", applications.Untouched()).
				Assess("the pod returns and is Annotated", funcs.All(
					c.back(namespace),
					funcs.Patch(namespace, funcs.Exporter, `{"spec":{"labelSelector":{"jmx":"on"}}}`),
					funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
					funcs.Serves(namespace, "dummyapp_requests_total"),
					funcs.Loaded(namespace, 2))).
				Assess("the application is still unchanged", applications.Untouched()).
				Feature())
		})
	}
}

// An agent that cannot be stopped is released in the end, and reported. No other feature
// runs at the same time.
func TestDetachTimeout(t *testing.T) {
	namespace, applications, feature := running(t, "detach-timeout", 1, 1, java17)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the detach timeout is short", funcs.Patch(namespace, funcs.Exporter, `{"spec":{"detach":{"timeout":"5s"}}}`)).
		WithSetup("its pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		WithSetup("the record has the new detach timeout", funcs.Patience(namespace, "5s")).
		WithSetup("the operator has no right on pods/exec", suite.WithoutRight("pods/exec")).
		WithSetup("the change takes effect", funcs.ExecRefused(namespace, "cannot")).
		Assess("the exporter is deleted", funcs.Delete(namespace, exporter)).
		Assess("the record is deleted at the end", funcs.Gone(namespace)).
		Assess("the operator's annotations are removed", funcs.Annotations(namespace, nil)).
		Assess("an Event names the remaining agent", funcs.Told(namespace, corev1.EventTypeWarning, "AgentLeft", "container dummyapp", "port 9400", "5s", "pods/exec")).
		Assess("the agent keeps serving", funcs.ServesPods(namespace, "app=dummyapp", port, "dummyapp_requests_total")).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the remaining agent is found with the right, and not loaded again", funcs.All(
			suite.Restored(),
			funcs.Apply(namespace, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.Loaded(namespace, 1))).
		Assess("the application is still unchanged", applications.Untouched()).
		Feature())
}

// A pod that another exporter takes over keeps its agent, and its annotations without
// interruption: only the port in them changes.
func TestHandedOver(t *testing.T) {
	namespace, applications, feature := running(t, "handed-over", 1, 1, java17)
	t.Parallel()
	scrape := funcs.AnnotationOf(namespace, "prometheus.io/scrape")
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("its pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		WithSetup("a second passes", funcs.AnotherSecond(namespace, funcs.Exporter)).
		WithSetup("a younger exporter is created", funcs.Apply(namespace, "manifests/two-exporters/younger.yaml")).
		WithSetup("the younger exporter has observed the pod", funcs.Observed(namespace, "younger")).
		WithSetup("the annotation is watched", scrape.Begin()).
		Assess("the older exporter is deleted and the younger takes over the pod", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.AllAnnotated(namespace, "younger", 1, 9401))).
		Assess("the annotation was present all the time", scrape.Kept()).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
