package operator

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// vats is the kind of the world's Deployment. What a field owner owns of it, the tests write into an
// annotation: what that is on a real API server, the examples test.
var vats = Children[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
	Kind: "Deployment", OwnerKind: breweryVersion.WithKind("Batch"), FieldOwner: "brewer", Annotation: "example.com/statement",
	Extract: func(d *appsv1.Deployment, owner string) (*appsv1ac.DeploymentApplyConfiguration, error) {
		ref := d.OwnerReferences[0]
		owned := wantedVat(&batch{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}).
			WithAnnotations(map[string]string{"example.com/statement": d.Annotations["example.com/statement"]}).
			WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).WithName(ref.Name).
				WithUID(ref.UID).WithController(*ref.Controller).WithBlockOwnerDeletion(*ref.BlockOwnerDeletion))
		if owner != "brewer" || d.Annotations["lost"] != "" {
			owned.Spec.Replicas = nil
		}
		return owned, nil
	},
}

func wantedVat(b *batch) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(b.Name, b.Namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(2))
}

// vat is the Deployment as the operator applied it.
func (w *world) vat(change func(*appsv1.Deployment)) {
	w.t.Helper()
	c := w.read()
	w.deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "brewery", Name: "ale", UID: "uid-of-vat", Annotations: c.wanted.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.batch, vats.OwnerKind)},
	}}
	if change != nil {
		change(w.deployment)
	}
}

func (w *world) read() *Child[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration] {
	w.t.Helper()
	c, err := vats.Read(w.t.Context(), w, w.batch, wantedVat(w.batch))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestChild(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		vat          func(w *world)
		key, reason  string
		says         string
		exists       bool
		applies, uid bool
	}{
		"there is none": {func(*world) {}, "generation 3", "DeploymentGone", "The Deployment ale is missing", false, true, false},
		"it stands":     {func(w *world) { w.vat(nil) }, "generation 3, deployment uid-of-vat", "", "", true, false, false},
		"it is somebody else's": {
			func(w *world) { w.vat(func(d *appsv1.Deployment) { d.OwnerReferences = nil }) },
			"generation 3, deployment uid-of-vat", ReasonNameTaken, "does not belong to this Batch. Delete it, or rename the Batch.", false, false, false,
		},
		"it is that of an earlier object of the name": {
			func(w *world) { w.vat(func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "another" }) },
			"generation 3, deployment uid-of-vat", ReasonNameTaken, "does not belong", false, false, false,
		},
		"a field was taken over": {
			func(w *world) { w.vat(func(d *appsv1.Deployment) { d.Annotations["lost"] = "replicas" }) },
			"generation 3, deployment uid-of-vat", "DeploymentChanged", "The Deployment ale was changed", true, true, true,
		},
		"another value is wanted": {
			func(w *world) { w.vat(func(d *appsv1.Deployment) { d.Annotations["example.com/statement"] = "old" }) },
			"generation 3, deployment uid-of-vat", "DeploymentChanged", "restoring", true, true, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tc.vat(w)
			c := w.read()
			if c.Key() != tc.key || c.Exists() != tc.exists {
				t.Errorf("the key is %q, and it exists: %t", c.Key(), c.Exists())
			}
			why := statemachine.DoneUnless(c.Drift())
			if why.Reason != tc.reason || !strings.Contains(why.Message, tc.says) {
				t.Errorf("it is lost because of %+v", why)
			}
			outcome := c.Ensure(t.Context(), w.writer())
			if (len(w.log) > 0) != tc.applies {
				t.Fatalf("writes: %q", w.log)
			}
			if !tc.applies {
				if outcome != why {
					t.Errorf("the outcome is %+v", outcome)
				}
				return
			}
			if outcome.Kind != statemachine.Done || c.Object.UID != "" {
				t.Errorf("the outcome is %+v, and the object that was read is still there: %s", outcome, c.Object.UID)
			}
			if _, uid := w.metadata()["uid"]; uid != tc.uid {
				t.Errorf("the metadata is %v", w.metadata())
			}
			owner := w.metadata()["ownerReferences"].([]any)[0]
			want := map[string]any{"apiVersion": "example.com/v1", "kind": "Batch", "name": "ale", "uid": "uid-of-ale", "controller": true, "blockOwnerDeletion": true}
			if diff := cmp.Diff(want, owner); diff != "" {
				t.Errorf("the owner reference (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChildErrors(t *testing.T) {
	t.Parallel()
	of := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, tc := range map[string]struct {
		err    error
		reason string
		kind   statemachine.Kind
	}{
		"it was deleted meanwhile":   {apierrors.NewConflict(of, "ale", errors.New("uid mismatch")), "DeploymentGone", statemachine.Failed},
		"the namespace terminates":   {terminating(of), "DeploymentGone", statemachine.Failed},
		"it is forbidden":            {apierrors.NewForbidden(of, "ale", errors.New("quota")), "DeploymentRefused", statemachine.Failed},
		"it is invalid":              {apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "ale", nil), "DeploymentRefused", statemachine.Failed},
		"the API server fails":       {apierrors.NewInternalError(errors.New("etcd is away")), ReasonAPIError, statemachine.Failed},
		"the API server is too busy": {apierrors.NewTooManyRequests("later", 1), ReasonAPIError, statemachine.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.vat(func(d *appsv1.Deployment) { d.Annotations["lost"] = "replicas" })
			w.err = tc.err
			c := w.read()
			outcome := c.Ensure(t.Context(), w.writer())
			if outcome.Reason != tc.reason || outcome.Kind != tc.kind || !errors.Is(outcome.Err, tc.err) || !strings.Contains(outcome.Message, "The Deployment ale") {
				t.Errorf("the outcome is %+v", outcome)
			}
			if c.Object.UID == "" {
				t.Error("what was read is forgotten, though nothing was written")
			}
		})
	}
	if kind := vats.KindOf("RollingOut"); kind != 0 {
		t.Errorf("a reason of the operator is %v", kind)
	}
}

func terminating(of schema.GroupResource) error {
	err := apierrors.NewForbidden(of, "ale", errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	return err
}
