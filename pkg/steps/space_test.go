package steps

import (
	"context"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Files that would get the pod evicted are not staged; no exec writes anything.
func TestStageWithoutSpace(t *testing.T) {
	var verbs []helperapi.Verb
	var headroom int64
	helper := helperFunc(func(_ context.Context, _ transport.Container, verb helperapi.Verb, r helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
		verbs, headroom = append(verbs, verb), r.MemoryHeadroom
		return &helperapi.Report{}, nil
	})
	agent := transport.NewBlob("agent-", make([]byte, 1000), ".jar")
	for limit, want := range map[string]string{"5k": v1alpha1.ReasonStorageLimitTooLow, "6k": ""} {
		s := aSituation(aProcess("app", 0))
		s.Artifacts, s.Config.Blob, s.Helper = &Artifacts{Agent: agent, Implementation: agent}, agent, helper
		s.Exporter.Spec.MemoryHeadroom = new(resource.MustParse("1Mi"))
		s.Pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(limit)}
		verbs = nil
		if got := (Stage{s.Tools}).Ensure(t.Context(), s.jvm()); got.Reason != want {
			t.Errorf("%s: got %s %s, want %q", limit, got.Reason, got.Message, want)
		} else if want != "" && (len(verbs) != 1 || !strings.Contains(got.Message, "6000 bytes")) {
			t.Errorf("%s: got helper operations %v and message %s, want one and the demand", limit, verbs, got.Message)
		} else if want == "" && headroom != 1<<20 {
			t.Errorf("%s: requested headroom: got %d, want 1Mi", limit, headroom)
		}
	}
}

// The helper's default equals the API's.
func TestMemoryHeadroomDefault(t *testing.T) {
	crd, err := os.ReadFile("../../config/crd/bases/banzaicloud.com_prometheusjmxexporters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := resource.NewQuantity(pod.MemoryHeadroom(&v1alpha1.PrometheusJmxExporter{}), resource.BinarySI).String()
	if !strings.Contains(string(crd), "default: "+want+"\n") {
		t.Errorf("the CRD's default is not %s", want)
	}
}
