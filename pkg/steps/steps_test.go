package steps

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The zero Outcome is never a success; a reason decides how its condition
// stands and whether it is tried again.
func TestOutcome(t *testing.T) {
	cause := errors.New("connection reset")
	cases := map[string]struct {
		outcome Outcome
		want    string
	}{
		"zero":             {Outcome{}, "0 Unknown"},
		"reached":          {Reached("It is there."), "1 True Reached"},
		"awaited":          {NotReached(v1alpha1.ReasonEndpointPending, "x"), "2 Unknown EndpointPending"},
		"tried again":      {NotReached(v1alpha1.ReasonPortInUse, "x"), "3 False PortInUse"},
		"needs a person":   {NotReached(v1alpha1.ReasonNoShell, "x"), "4 False NoShell"},
		"goes back":        {NotReached(v1alpha1.ReasonProcessGone, "x"), "2 Unknown ProcessGone replaced"},
		"a typed failure":  {failed(fmt.Errorf("load: %w", &transport.Error{Reason: v1alpha1.ReasonExecTimeout, Err: cause})), "3 False ExecTimeout connection reset"},
		"an unknown error": {failed(cause), "3 False APIError connection reset"},
	}
	for name, tc := range cases {
		o := tc.outcome
		got := fmt.Sprintf("%d %s %s %s", o.Kind, o.Status(), o.Reason, o.Back)
		if o.Err != nil {
			got += o.Err.Error()
		}
		if got = strings.TrimSpace(got); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// podWith is a pod whose annotations are owned as said: manager -> annotations.
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

func TestForeignAnnotations(t *testing.T) {
	us := string(apply.OwnerPodAnnotations)
	cases := map[string]struct {
		owned map[string][]string
		bare  string // an annotation that nobody owns
		want  string
	}{
		"none":             {},
		"ours":             {owned: map[string][]string{us: {AnnotationScrape, AnnotationPort}}},
		"somebody's":       {owned: map[string][]string{"helm": {AnnotationPort}}, want: "prometheus.io/port [helm]"},
		"ours and theirs":  {owned: map[string][]string{us: {AnnotationScrape}, "helm": {AnnotationScrape}}, want: "prometheus.io/scrape [helm]"},
		"a scheme":         {owned: map[string][]string{"helm": {AnnotationScheme}}, want: "prometheus.io/scheme [helm]"},
		"of two":           {owned: map[string][]string{"zed": {AnnotationPath}, "helm": {AnnotationPath}}, want: "prometheus.io/path [helm zed]"},
		"nobody's":         {bare: AnnotationPort, want: "prometheus.io/port [an unknown field manager]"},
		"another's matter": {owned: map[string][]string{"helm": {"prometheus.io/job", "example.com/port"}}},
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
				for _, f := range foreignAnnotations(pod) {
					got = append(got, fmt.Sprintf("%s %v", f.Name, f.Managers))
				}
				if strings.Join(got, ", ") != tc.want {
					t.Errorf("trimmed %t: %q, want %q", trimmed, got, tc.want)
				}
			}
		})
	}
}

// Trimming keeps what is ours to know: whose the annotations are, and who changed
// the pod last, without what. Twice is once.
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
		"the maker alone":        {[]metav1.ManagedFieldsEntry{entry("helm", 0, "example.com/x")}, nil},
		"an annotation of its":   {[]metav1.ManagedFieldsEntry{entry("helm", 0, AnnotationPort)}, []string{"helm - " + port}},
		"who changed it last":    {[]metav1.ManagedFieldsEntry{entry("helm", 0, AnnotationPort), entry("a", time.Minute, "x/a"), entry("b", time.Second, "x/b")}, []string{"helm - " + port, "a 1m0s {}"}},
		"who changed it and us":  {[]metav1.ManagedFieldsEntry{entry("a", time.Minute, "x/a"), entry(string(apply.OwnerPodAnnotations), time.Hour, AnnotationPort)}, []string{"a 1m0s {}", string(apply.OwnerPodAnnotations) + " - " + port}},
		"the kubelet's statuses": {[]metav1.ManagedFieldsEntry{status}, nil},
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

// The key changes with all that an event announces, and with nothing else.
func TestKey(t *testing.T) {
	artifacts := &Artifacts{}
	scope := func(change func(*Scope)) *Scope {
		s := &Scope{Attachment: &v1alpha1.JmxAttachment{}, Pod: podWith(nil), Exporter: &v1alpha1.PrometheusJmxExporter{}}
		s.Pod.UID, s.Pod.Status.PodIP = types.UID("uid"), "10.0.0.1"
		s.Pod.Spec.Containers = []corev1.Container{{Name: "app"}}
		s.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "app", ContainerID: "containerd://1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}
		if change != nil {
			change(s)
		}
		return s
	}
	before := scope(nil).Key(artifacts)
	for name, tc := range map[string]struct {
		change func(*Scope)
		same   bool
	}{
		"nothing":                   {nil, true},
		"a label":                   {func(s *Scope) { s.Pod.Labels = map[string]string{"a": "b"} }, true},
		"another annotation":        {func(s *Scope) { s.Pod.Annotations["example.com/x"] = "y" }, true},
		"the record":                {func(s *Scope) { s.Status().Reason = "x" }, true},
		"the exporter's status":     {func(s *Scope) { s.Exporter.Status.Pods = "1/1" }, true},
		"the pod":                   {func(s *Scope) { s.Pod.UID = "other" }, false},
		"its address":               {func(s *Scope) { s.Pod.Status.PodIP = "10.0.0.2" }, false},
		"the container":             {func(s *Scope) { s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2" }, false},
		"the container stops":       {func(s *Scope) { s.Pod.Status.ContainerStatuses[0].State.Running = nil }, false},
		"the exporter":              {func(s *Scope) { s.Exporter.Generation++ }, false},
		"the configuration":         {func(s *Scope) { s.Config.SHA256 = "x" }, false},
		"what is wrong with it":     {func(s *Scope) { s.Config.Problem = &Problem{Reason: "x"} }, false},
		"somebody's annotation":     {func(s *Scope) { s.Pod.Annotations[AnnotationPort] = "80" }, false},
		"somebody else's than that": {func(s *Scope) { s.Pod = podWith(map[string][]string{"helm": {AnnotationPort}}) }, false},
	} {
		if got := scope(tc.change).Key(artifacts); (got == before) != tc.same || len(got) > 64 {
			t.Errorf("%s: the key is %s, was %s", name, got, before)
		}
	}
	if got := scope(nil).Key(&Artifacts{Agent: transport.NewBlob("agent-", []byte("new"), ".jar")}); got == before {
		t.Error("with another agent the key is the same")
	}
}

// Whose an annotation is, in words that a person knows.
func TestOwnerName(t *testing.T) {
	controlled := func(kind, name string) *corev1.Pod {
		pod := podWith(nil)
		pod.Labels = map[string]string{"pod-template-hash": "abc12"}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
		return pod
	}
	got := []string{
		ownerName(podWith(nil), "helm"),
		ownerName(podWith(nil), "kube-controller-manager"),
		ownerName(controlled("ReplicaSet", "shop-abc12"), "kube-controller-manager"),
		ownerName(controlled("ReplicaSet", "by-hand"), "kube-controller-manager"),
		ownerName(controlled("StatefulSet", "db"), "kube-controller-manager"),
		ownerName(controlled("StatefulSet", "db"), "helm"),
	}
	want := []string{
		`field manager "helm"`, `field manager "kube-controller-manager"`, "the pod template of Deployment shop",
		"the pod template of ReplicaSet by-hand", "the pod template of StatefulSet db", `field manager "helm"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each step brings about its own phase, in their order.
func TestAll(t *testing.T) {
	phase := statemachine.Pending
	for _, step := range All(nil, nil, nil, nil) {
		next, ok := phase.Next()
		if !ok || step.Phase() != next {
			t.Errorf("after %s comes the step of %s", phase, step.Phase())
		}
		phase = next
	}
	if _, more := phase.Next(); more {
		t.Errorf("no step comes after %s", phase)
	}
}
