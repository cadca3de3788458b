package integration

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// grantOlder grants a user the rights of config/rbac of a release that kept no
// configuration.
func (c *cluster) grantOlder(user string) {
	c.t.Helper()
	data, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		c.t.Fatal(err)
	}
	create(c.t, &rbacv1.Role{ObjectMeta: c.named(role.Name), Rules: slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "controllerrevisions")
	})})
	create(c.t, &rbacv1.RoleBinding{
		ObjectMeta: c.named(role.Name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
}

// serves waits until the pod and its exporter are served, whatever is kept.
func (s *story) serves() {
	s.t.Helper()
	eventually(s.t, func() bool {
		a := s.attachment(s.pod)
		get(s.t, s.exporter)
		return a != nil && phaseOf(a) == isAnnotated && s.endpoints(s.exporter) != "" && s.exporter.Status.Pods == "1/1" &&
			meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady)
	})
}

// unkept checks that the exporter is Ready, and says that its configuration is not kept.
func (s *story) unkept(when, why string) {
	s.t.Helper()
	get(s.t, s.exporter)
	valid := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid)
	ready := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionTrue || valid.Status != metav1.ConditionTrue {
		s.t.Errorf("%s: got Ready %s %s and ConfigValid %s %s, want both True", when, ready.Status, ready.Reason, valid.Status, valid.Reason)
	}
	if !strings.Contains(valid.Message, "not kept") || !strings.Contains(valid.Message, why) {
		s.t.Errorf("%s: message of ConfigValid: got %q, want it to say that the configuration is not kept, and %q", when, valid.Message, why)
	}
}

// Where the role of an older release is left in one of two namespaces, the operator works in
// both. Only what is kept is missing there.
func TestLastValidConfigurationWithOlderRole(t *testing.T) {
	t.Parallel()
	older, other := &story{cluster: newCluster(t)}, &story{cluster: newCluster(t)}
	name := "operator-of-" + older.namespace
	user := addUser(t, name, serviceAccounts)
	older.grantOlder(name)
	other.grant(name, "../../config/rbac/role.yaml")
	both := fakenode.New(t)
	older.containers, other.containers = both, both
	older.startManagerIn(user, both.Prober(effects.Direct), older.namespace, other.namespace)
	for _, s := range []*story{older, other} {
		s.pod = s.run(aPod("app-0"))
		s.exporter = s.exportOpen()
	}
	for _, s := range []*story{older, other} {
		s.serves()
	}
	older.unkept("with an older role", "controllerrevisions")
	eventually(t, func() bool {
		var events corev1.EventList
		older.list(&events)
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning && e.Reason == v1alpha1.ReasonConfigNotKept
		})
	})
	had := older.attachment(older.pod).Status.Processes[0].ConfigSHA256
	older.configure(changed)
	eventually(t, func() bool {
		a := older.attachment(older.pod)
		return phaseOf(a) == isAnnotated && a.Status.Processes[0].ConfigSHA256 != had
	})
	for s, want := range map[*story]string{older: "JavaFound " + v1alpha1.ReasonConfigNotYAML, other: isAnnotated} {
		s.configure("rules: {")
		eventually(t, func() bool {
			get(t, s.exporter)
			return meta.IsStatusConditionFalse(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid)
		})
		before := s.attachment(s.pod).Status.Processes[0].ContainerID
		s.restart(s.pod)
		eventually(t, func() bool {
			a := s.attachment(s.pod)
			return phaseOf(a) == want && a.Status.Processes[0].ContainerID != before
		})
		s.configure(rules)
		s.serves()
	}
}

// What refuses the ControllerRevision never concerns what is served: the exporter is Ready,
// pods follow the ConfigMap, and it is tried again later.
func TestRefusedRevision(t *testing.T) {
	t.Parallel()
	denied := func(message string) error {
		return apierrors.NewForbidden(appsv1.Resource("controllerrevisions"), "exporter", fmt.Errorf("%s", message))
	}
	for name, why := range map[string]error{
		"RBAC":            denied(`User "operator" cannot patch resource "controllerrevisions"`),
		"a quota":         denied("exceeded quota: count/controllerrevisions.apps=0"),
		"foreign webhook": apierrors.NewInternalError(fmt.Errorf(`failed calling webhook "policy.example.com": connection refused`)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			refuses, tries := true, 0
			o.fate = func(_ int, effect effects.Effect, do func() error) error {
				if effect.What != string(records.OwnerRevisions) {
					return do()
				}
				if tries++; refuses {
					return why
				}
				return do()
			}
			s.pod, s.exporter = s.run(aPod("app-0")), s.export("exporter")
			o.settle()
			s.isAnnotated("9400")
			s.unkept(name, strings.TrimSpace(why.Error()[max(0, len(why.Error())-20):]))
			if events := o.events.with(v1alpha1.ReasonConfigNotKept); len(events) != 1 || events[0].Type != corev1.EventTypeWarning {
				t.Errorf("Events: got %v, want one Warning", events)
			}
			if tries != 1 {
				t.Errorf("writes in a row: got %d, want 1", tries)
			}
			refuses = false
			s.later(11 * time.Minute)
			o.settle()
			get(t, s.exporter)
			if valid := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid); strings.Contains(valid.Message, "not kept") || tries != 2 {
				t.Errorf("once it is allowed: got message %q after %d writes, want none of it after 2", valid.Message, tries)
			}
		})
	}
}

// Somebody who may write ControllerRevisions plants one where the operator would keep a
// configuration. It is left as it is, and nothing of it is served.
func TestPlantedRevision(t *testing.T) {
	t.Parallel()
	planted := map[string]func(*appsv1.ControllerRevision){
		"one of nobody": func(r *appsv1.ControllerRevision) { r.OwnerReferences, r.Labels = nil, nil },
		"one that looks like the operator's": func(r *appsv1.ControllerRevision) {
			r.Data.Raw = []byte(`{"configuration":"cnVsZXM6IFtdCg=="}`)
		},
		"one with the highest number": func(r *appsv1.ControllerRevision) {
			r.Name, r.Revision = "planted", 1<<63-1
		},
		"one with the operator's labels in part": func(r *appsv1.ControllerRevision) {
			delete(r.Labels, v1alpha1.LabelManagedBy)
			r.Name = "planted"
		},
	}
	for name, how := range planted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := longRunning(t, aPod("app-0"), nil)
			var list appsv1.ControllerRevisionList
			s.list(&list)
			ours := list.Items[0]
			remove(t, ours.DeepCopy())
			theirs := ours.DeepCopy()
			theirs.ObjectMeta = metav1.ObjectMeta{Namespace: ours.Namespace, Name: ours.Name, Labels: ours.Labels, OwnerReferences: ours.OwnerReferences}
			how(theirs)
			create(t, theirs)

			next := s.operate()
			next.settle()
			get(t, s.exporter)
			if !meta.IsStatusConditionTrue(s.exporter.Status.Conditions, v1alpha1.ConditionReady) {
				t.Errorf("the exporter is not Ready: %+v", s.exporter.Status.Conditions)
			}
			if theirs.Name == ours.Name && theirs.OwnerReferences == nil {
				s.unkept(name, "not controlled by this exporter")
			}
			had := s.attachment(s.pod).Status.Processes[0].ConfigSHA256
			s.configure("rules: {")
			s.restart(s.pod)
			next.settle()
			if a := s.attachment(s.pod); len(a.Status.Processes) > 0 && a.Status.Processes[0].Port != 0 && a.Status.Processes[0].ConfigSHA256 != had {
				t.Errorf("the pod serves what was planted: %s", a.Status.Processes[0].ConfigSHA256)
			}
			s.configure(changed)
			next.settle()
			s.later(11 * time.Minute)
			next.settle()
			s.isAnnotated("9400")
			if lacks := theirs.OwnerReferences == nil || theirs.Labels[v1alpha1.LabelManagedBy] == ""; lacks && !get(t, theirs) {
				t.Error("what was planted is deleted")
			}
		})
	}
}

// A write or a read of a ControllerRevision that is never answered delays an exporter by
// seconds: the requests are held by the client; the API server is real.
func TestHeldRevision(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	held := &holding{namespace: s.namespace, resource: "controllerrevisions", end: t.Context().Done()}
	as := rest.CopyConfig(config)
	as.Wrap(func(next http.RoundTripper) http.RoundTripper { held.next = next; return held })
	s.startManagerIn(as, s.containers.Prober(effects.Direct), s.namespace)
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.exportOpen()
	s.serves()
	if held.writes.Load() == 0 {
		t.Error("nothing was held")
	}
	s.unkept("while the write hangs", "did not answer")
	var list appsv1.ControllerRevisionList
	if s.list(&list, client.HasLabels{v1alpha1.LabelExporterUID}); len(list.Items) > 0 {
		t.Errorf("ControllerRevisions: got %d, want none", len(list.Items))
	}
}
