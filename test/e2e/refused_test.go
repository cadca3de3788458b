//go:build e2e

package e2e

import (
	"cmp"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// What stands in the way in a pod is told by a typed reason and a sentence,
// nothing is loaded, the application is not disturbed, and once it is mended the
// pod is Annotated.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		files      []string
		exporter   string // that of the samples, if empty
		pods, jvms int
		phase      v1alpha1.Phase
		reason     string
		words      []string
		mend       []string
		port       int32
	}{
		{
			name: "port-in-use", files: []string{"manifests/port-in-use/app.yaml"}, pods: 1, jvms: 1,
			phase: v1alpha1.PhaseLoaded, reason: v1alpha1.ReasonPortInUse, words: []string{"9400"},
			mend: []string{"manifests/port-in-use/mended.yaml"}, port: 9401,
		},
		{
			name: "attach-disabled", files: []string{"manifests/attach-disabled/app.yaml"}, pods: 1, jvms: 1,
			phase: v1alpha1.PhaseJavaFound, reason: v1alpha1.ReasonAttachDisabled, words: []string{"dummyapp", "-XX:+DisableAttachMechanism"},
			mend: []string{java17}, port: port,
		},
		{
			name: "agents-refused", files: []string{"manifests/agents-refused/java17.yaml", "manifests/agents-refused/java25.yaml"}, pods: 2, jvms: 2,
			phase: v1alpha1.PhaseJavaFound, reason: v1alpha1.ReasonAgentLoadingDisabled, words: []string{"-XX:-EnableDynamicAgentLoading"},
			mend: []string{java17, java25}, port: port,
		},
		{
			name: "no-shell", files: []string{"manifests/no-shell/app.yaml"}, exporter: "manifests/transport/never.yaml", pods: 1, jvms: 1,
			phase: v1alpha1.PhaseJavaFound, reason: v1alpha1.ReasonNoShell, words: []string{"no shell"},
			mend: []string{java17}, port: port,
		},
		{
			name: "read-only", files: []string{"manifests/read-only/app.yaml"}, pods: 1, jvms: 1,
			phase: v1alpha1.PhaseJavaFound, reason: v1alpha1.ReasonTmpNotWritable, words: []string{"/tmp", "emptyDir"},
			mend: []string{"manifests/read-only/mended.yaml"}, port: port,
		},
		{
			name: "little-memory", files: []string{"manifests/little-memory/app.yaml", "manifests/little-memory/java25.yaml"}, pods: 2, jvms: 2,
			phase: v1alpha1.PhaseStaged, reason: v1alpha1.ReasonInsufficientMemory, words: []string{"memory limit of 128 MiB", "spec.memoryHeadroom"},
			mend: []string{java17, java25}, port: port,
		},
		{
			name: "little-space", files: []string{"manifests/little-space/app.yaml"}, pods: 1, jvms: 1,
			phase: v1alpha1.PhaseJavaFound, reason: v1alpha1.ReasonStorageLimitTooLow, words: []string{"sizeLimit of the emptyDir tmp is 4Mi"},
			mend: []string{java17}, port: port,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			namespace, applications, feature := running(c.name, c.pods, c.jvms, c.files...)
			testenv.Test(t, feature.
				WithSetup("an exporter", funcs.Apply(namespace, rules, cmp.Or(c.exporter, exporter))).
				Assess(c.reason+" is told", funcs.ConditionWithReason(namespace, c.pods, c.phase, c.reason, c.words...)).
				Assess("nothing is loaded", funcs.NothingLoaded(namespace)).
				Assess("no annotation is written", funcs.Annotations(namespace, nil)).
				Assess("the applications are as before", applications.Untouched()).
				Assess("mended, all pods are Annotated", funcs.All(
					funcs.Apply(namespace, c.mend...),
					funcs.AllAnnotated(namespace, funcs.Exporter, c.pods, c.port))).
				Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
				Feature())
		})
	}
}

// A container that does not run Java yet is left as it is, and looked at again.
func TestNoJava(t *testing.T) {
	t.Parallel()
	namespace, applications, feature := running("no-java", 1, 0, "manifests/no-java/app.yaml")
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("NoJavaProcess is told", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonNoJavaProcess)).
		Assess("nothing is installed", funcs.NothingInstalled(namespace)).
		Assess("the container is as before", applications.Untouched()).
		Assess("Java starts", funcs.All(
			funcs.Exec(namespace, "app=dummyapp", "touch", "/tmp/start"),
			funcs.Running(namespace, 1, 1),
			applications.Remember())).
		Assess("its pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is as before", applications.Untouched()).
		Feature())
}

// JVMs that need care, and are attached to all the same.
func TestAttachedAllTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files []string
	}{
		{name: "reduced-signals", files: []string{"manifests/reduced-signals/app.yaml"}},
		{name: "other-user", files: []string{"manifests/other-user/app.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pods := len(c.files)
			namespace, applications, feature := running(c.name, pods, pods, c.files...)
			testenv.Test(t, feature.
				WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
				Assess("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, pods, port)).
				Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
				Assess("the metrics are served", funcs.Serves(namespace, "dummyapp_requests_total")).
				Assess("the applications are as before", applications.Untouched()).
				Feature())
		})
	}
}

// A pod that goes midway takes its record with it and holds nobody up.
func TestPodGone(t *testing.T) {
	t.Parallel()
	namespace, _, feature := running("pod-gone", 3, 3, java17x3)
	waiting := func() features.Func {
		return funcs.ConditionWithReason(namespace, 3, v1alpha1.PhaseStaged, v1alpha1.ReasonConfigMapMissing, "prometheus-jmx-exporter-config")
	}
	testenv.Test(t, feature.
		WithSetup("an exporter without its ConfigMap", funcs.Apply(namespace, exporter)).
		Assess("the pods wait", waiting()).
		Assess("one goes, and its record with it", funcs.PodDeleted(namespace)).
		Assess("another one comes in its place", funcs.All(funcs.Running(namespace, 3, 3), waiting())).
		Assess("one goes while the agents are loaded", funcs.All(
			funcs.Apply(namespace, rules),
			funcs.PodDeleted(namespace))).
		Assess("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 3, port)).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Feature())
}
