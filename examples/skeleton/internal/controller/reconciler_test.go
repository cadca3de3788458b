package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

// A world is one Skeleton in a namespace of its own, and who reconciles it.
type world struct {
	t          *testing.T
	object     *v1alpha1.Skeleton
	reconciler reconcile.Reconciler
	clock      *clocktesting.FakePassiveClock
	// did are the effects so far; the accident, if there is one, happens at one of them.
	did      []string
	accident *effectstest.Accident
}

func newWorld(t *testing.T) *world {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "skeleton-"}}
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))}
	w.must(admin.Create(t.Context(), namespace))
	w.object = &v1alpha1.Skeleton{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "sample"},
		Spec:       v1alpha1.SkeletonSpec{Image: "registry.example/app:1", Replicas: 2},
	}
	w.must(admin.Create(t.Context(), w.object))
	w.reconciler = reconcile.AsReconciler(admin, &Reconciler{Reader: admin, Apply: apply.New(admin, w.seam), Clock: w.clock})
	return w
}

func (w *world) seam(ctx context.Context, e effects.Effect, do func(context.Context) error) error {
	what := fmt.Sprintf("%s %s", e.Kind, e.What)
	w.did = append(w.did, what)
	return w.accident.Perform(what, func() error { return do(ctx) })
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) key() client.ObjectKey { return client.ObjectKeyFromObject(w.object) }

// settle reconciles until nothing is done any more, as events and time would.
func (w *world) settle() {
	w.t.Helper()
	for range 20 {
		before := len(w.did)
		_, _ = w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key()})
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		if !w.accident.Restart() && len(w.did) == before {
			w.must(admin.Get(w.t.Context(), w.key(), w.object))
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %q", w.did)
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	d := &appsv1.Deployment{}
	w.must(admin.Get(w.t.Context(), w.key(), d))
	return d
}

// available does what the Deployment's controller and the kubelets would.
func (w *world) available(pods int32) {
	w.t.Helper()
	d := w.deployment()
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods, AvailableReplicas: pods, ReadyReplicas: pods}
	w.must(admin.Status().Update(w.t.Context(), d))
}

// is asserts where the Skeleton has come to, and that a person can read why.
func (w *world) is(phase, reason string) {
	w.t.Helper()
	status := w.object.Status
	ready := meta.FindStatusCondition(status.Conditions, "Ready")
	if string(status.Phase) != phase || status.Reason != reason || ready == nil || (reason == "") != (ready.Status == metav1.ConditionTrue) {
		w.t.Fatalf("it is %s because of %q, and Ready %+v; want %s because of %q", status.Phase, status.Reason, ready, phase, reason)
	}
	if reason != "" && (ready.Reason != reason || ready.Message == "") || status.ObservedGeneration != w.object.Generation {
		w.t.Errorf("Ready is %+v of generation %d, want %s", ready, status.ObservedGeneration, reason)
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle()
	w.is("Deployed", ReasonRollingOut)
	w.available(2)
	w.settle()
	w.is("RolledOut", "")
	if w.object.Status.Replicas != 2 {
		t.Errorf("%d replicas are available", w.object.Status.Replicas)
	}

	before := len(w.did)
	w.settle()
	if after := len(w.did); after != before {
		t.Errorf("though nothing differs, it did %q", w.did[before:])
	}

	w.available(1)
	w.settle()
	w.is("Deployed", ReasonRollingOut)
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*appsv1.Deployment){
		"another image": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" },
		"scaled":        func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.settle()
			d := w.deployment()
			change(d)
			d.Labels = map[string]string{"team": "blue"}
			w.must(admin.Update(t.Context(), d))
			w.settle()
			d = w.deployment()
			if d.Spec.Template.Spec.Containers[0].Image != w.object.Spec.Image || *d.Spec.Replicas != w.object.Spec.Replicas {
				t.Errorf("the Deployment is %+v", d.Spec)
			}
			if d.Labels["team"] != "blue" {
				t.Error("a foreign label is gone")
			}
			if owned, err := appsv1ac.ExtractDeployment(d, string(owner)); err != nil || owned.Spec.Replicas == nil {
				t.Errorf("the operator owns %+v: %v", owned, err)
			}
		})
	}
}

func TestDeploymentDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle()
	first := w.deployment()
	w.must(admin.Delete(t.Context(), first))
	w.settle()
	if w.deployment().UID == first.UID {
		t.Error("the Deployment is the one that was deleted")
	}
	w.is("Deployed", ReasonRollingOut)
}

// foreignDeployment is somebody else's, of the name that the operator's would have.
func (w *world) foreignDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "other"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: w.object.Name},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other"}}},
		}},
	}
}

func TestNameTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	foreign := w.foreignDeployment()
	w.must(admin.Create(t.Context(), foreign))
	w.settle()
	w.is("Planned", operator.ReasonNameTaken)
	if got := w.deployment(); got.ResourceVersion != foreign.ResourceVersion {
		t.Error("the Deployment of somebody else was written")
	}
	w.must(admin.Delete(t.Context(), foreign))
	w.settle()
	w.is("Deployed", ReasonRollingOut)
}

// Whatever effect the operator ends at, before or after it, another one comes to the same
// end.
func TestCrash(t *testing.T) {
	t.Parallel()
	recorded := newWorld(t)
	recorded.settle()
	for _, a := range effectstest.Plan(recorded.did, effectstest.DiesBefore, effectstest.DiesAfter) {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.accident = a
			w.settle()
			if !a.Happened() {
				t.Error("the effect did not come about again")
			}
			w.is("Deployed", ReasonRollingOut)
		})
	}
}
