package pod

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
)

// Annotations are foreign if another manager owns them, alone or with the operator, also in
// a trimmed pod.
func TestForeignAnnotations(t *testing.T) {
	us := string(records.OwnerPodAnnotations)
	cases := map[string]struct {
		owned map[string][]string
		bare  string // an annotation without an owner
		want  string
	}{
		"there are no annotations":                             {},
		"the operator owns the annotations":                    {owned: map[string][]string{us: {v1alpha1.AnnotationScrape, v1alpha1.AnnotationPort}}},
		"another manager owns an annotation":                   {owned: map[string][]string{"helm": {v1alpha1.AnnotationPort}}, want: "prometheus.io/port [helm]"},
		"another manager owns an annotation with the operator": {owned: map[string][]string{us: {v1alpha1.AnnotationScrape}, "helm": {v1alpha1.AnnotationScrape}}, want: "prometheus.io/scrape [helm]"},
		"another manager owns the scheme":                      {owned: map[string][]string{"helm": {v1alpha1.AnnotationScheme}}, want: "prometheus.io/scheme [helm]"},
		"two managers own an annotation":                       {owned: map[string][]string{"zed": {v1alpha1.AnnotationPath}, "helm": {v1alpha1.AnnotationPath}}, want: "prometheus.io/path [helm zed]"},
		"an annotation has no owner":                           {bare: v1alpha1.AnnotationPort, want: "prometheus.io/port [an unknown field manager]"},
		"another manager owns unrelated annotations":           {owned: map[string][]string{"helm": {"prometheus.io/job", "example.com/port"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := podWith(tc.owned)
			if tc.bare != "" {
				pod.Annotations[tc.bare] = "x"
			}
			for _, trimmed := range []bool{false, true} {
				if trimmed {
					TrimManagedFields(pod)
				}
				var got []string
				for _, f := range ForeignScrape(pod) {
					got = append(got, fmt.Sprintf("%s %v", f.Name, f.Managers))
				}
				if strings.Join(got, ", ") != tc.want {
					t.Errorf("trimmed %t: %q, want %q", trimmed, got, tc.want)
				}
			}
		})
	}
}

// Trimming keeps the owners of the operator's annotations, and the last other manager of the
// pod without its fields. It is idempotent.
func TestTrimManagedFields(t *testing.T) {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	entry := func(manager string, after time.Duration, annotation string) metav1.ManagedFieldsEntry {
		e := podWith(map[string][]string{manager: {annotation}}).ManagedFields[0]
		e.Time = new(metav1.NewTime(created.Add(after)))
		return e
	}
	status := entry("kubelet", time.Hour, "example.com/s")
	status.Subresource = "status"
	const port = `{"f:metadata":{"f:annotations":{"f:prometheus.io/port":{}}}}`
	cases := map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    []string
	}{
		"only the creator is present":                {[]metav1.ManagedFieldsEntry{entry("helm", 0, "example.com/x")}, nil},
		"the creator owns an annotation":             {[]metav1.ManagedFieldsEntry{entry("helm", 0, v1alpha1.AnnotationPort)}, []string{"helm - " + port}},
		"several managers changed the pod":           {[]metav1.ManagedFieldsEntry{entry("helm", 0, v1alpha1.AnnotationPort), entry("a", time.Minute, "x/a"), entry("b", time.Second, "x/b")}, []string{"helm - " + port, "a 1m0s {}"}},
		"a manager and the operator changed the pod": {[]metav1.ManagedFieldsEntry{entry("a", time.Minute, "x/a"), entry(string(records.OwnerPodAnnotations), time.Hour, v1alpha1.AnnotationPort)}, []string{"a 1m0s {}", string(records.OwnerPodAnnotations) + " - " + port}},
		"the kubelet changed the status":             {[]metav1.ManagedFieldsEntry{status}, nil},
	}
	for name, tc := range cases {
		pod := &corev1.Pod{}
		pod.CreationTimestamp = metav1.NewTime(created)
		pod.ManagedFields = tc.entries
		for range 2 {
			TrimManagedFields(pod)
			var kept []string
			for _, e := range pod.ManagedFields {
				when := "-"
				if e.Time != nil {
					when = e.Time.Sub(created).String()
				}
				kept = append(kept, fmt.Sprintf("%s %s %s", e.Manager, when, e.FieldsV1.GetRawString()))
			}
			if diff := cmp.Diff(tc.want, kept); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// The owner of an annotation, in terms of its user.
func TestOwnerName(t *testing.T) {
	controlled := func(kind, name string) *corev1.Pod {
		pod := podWith(nil)
		pod.Labels = map[string]string{"pod-template-hash": "abc12"}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
		return pod
	}
	got := []string{
		OwnerName(podWith(nil), "helm"),
		OwnerName(podWith(nil), "kube-controller-manager"),
		OwnerName(controlled("ReplicaSet", "shop-abc12"), "kube-controller-manager"),
		OwnerName(controlled("ReplicaSet", "by-hand"), "kube-controller-manager"),
		OwnerName(controlled("StatefulSet", "db"), "kube-controller-manager"),
		OwnerName(controlled("StatefulSet", "db"), "helm"),
	}
	want := []string{
		`field manager "helm"`, `field manager "kube-controller-manager"`, "the pod template of Deployment shop",
		"the pod template of ReplicaSet by-hand", "the pod template of StatefulSet db", `field manager "helm"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// podWith returns a pod whose annotations have these owners: manager -> annotations.
func podWith(owned map[string][]string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Annotations = map[string]string{}
	for manager, names := range owned {
		fields := make([]string, len(names))
		for i, name := range names {
			pod.Annotations[name] = "x"
			fields[i] = fmt.Sprintf("%q:{}", "f:"+name)
		}
		raw := `{"f:metadata":{"f:annotations":{` + strings.Join(fields, ",") + `},"f:labels":{"f:app":{}}},"f:spec":{"f:nodeName":{}}}`
		pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.Now()), FieldsV1: metav1.NewFieldsV1(raw),
		})
	}
	return pod
}
