package funcs

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// ApplyPatched applies the objects of a manifest after a change of each.
func ApplyPatched(namespace, file string, change func(*unstructured.Unstructured) error) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := eachObject(namespace, []string{file}, func(object *unstructured.Unstructured) error {
			if err := change(object); err != nil {
				return err
			}
			return c.apply(ctx, object, fieldManager, namespace)
		}); err != nil {
			t.Fatal(err)
		}
	})
}

var (
	attachSocket = regexp.MustCompile(`\.java_pid\d+`)
	helperName   = regexp.MustCompile(`jmx-attach-[0-9a-f]{12}`)
)

// Within runs tests within a step.
func Within(tests func(t *testing.T)) features.Func {
	return verb(func(_ context.Context, t *testing.T, _ *cluster) {
		t.Helper()
		tests(t)
	})
}

// Reported asserts the transport of the only attachment, and leaves what became of
// this kind of pod among the events of the test, for docs/compatibility.md.
func Reported(namespace string, k kinds.Kind) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		records, err := c.attachments(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != 1 {
			t.Fatalf("%d attachments are there, not 1", len(records))
		}
		status, result := records[0].Status, kinds.Result{Kind: k.Name, Outcome: string(records[0].Status.Phase)}
		phase := cmp.Or(k.Phase, v1alpha1.PhaseJavaFound) // which says how the JVM was reached
		for _, container := range status.Containers {
			if container.Name == cmp.Or(k.JavaIn, "dummyapp") {
				result.Transport = string(cmp.Or(container.Transport, v1alpha1.TransportExec))
			}
			if container.Reason == v1alpha1.ReasonPodProtected {
				result.Transport = ""
			}
		}
		if result.Transport != string(k.Transport) {
			t.Fatalf("the transport is %q, not %q: %+v", result.Transport, k.Transport, status.Containers)
		}
		condition := meta.FindStatusCondition(status.Conditions, string(phase))
		if condition == nil {
			t.Fatalf("there is no condition %s", phase)
		}
		result.Message = condition.Message
		if k.Reason != "" {
			result.Outcome = condition.Reason
		}
		// Names and process IDs differ from run to run, digests from build to build.
		result.Message = strings.NewReplacer(records[0].Spec.Pod.Name, "dummyapp-0", namespace, "<namespace>").Replace(result.Message)
		result.Message = attachSocket.ReplaceAllString(result.Message, ".java_pid<pid>")
		result.Message = helperName.ReplaceAllString(result.Message, "jmx-attach-<digest>")
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		t.Attr(kinds.Attribute, string(text))
	})
}
