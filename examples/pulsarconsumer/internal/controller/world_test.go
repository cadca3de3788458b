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
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
)

// A world is one PulsarConsumer in a namespace of its own, and who reconciles it.
type world struct {
	t          *testing.T
	object     *v1.PulsarConsumer
	reconciler reconcile.Reconciler
	clock      *clocktesting.FakePassiveClock
	// did are the effects so far; the accident, if there is one, happens at one of them, and
	// failure, if it is not nil, has some fail.
	did      []string
	accident *effectstest.Accident
	failure  func(what string) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "pulsarconsumer-"}}
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))}
	w.must(admin.Create(t.Context(), namespace))
	w.object = aConsumer(namespace.Name)
	w.must(admin.Create(t.Context(), w.object))
	w.reconciler = reconcile.AsReconciler(admin, &Reconciler{Reader: admin, Image: "registry.example/consumer:1", Apply: apply.New(admin, w.seam), Clock: w.clock})
	return w
}

func aConsumer(namespace string) *v1.PulsarConsumer {
	return &v1.PulsarConsumer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample", Labels: map[string]string{"team": "blue"}},
		Spec: v1.PulsarConsumerSpec{
			ServerAddress: "pulsar://broker:6650", Topic: "orders", SubscriptionName: "logger", Replicas: new(int32(2)),
		},
	}
}

func (w *world) seam(ctx context.Context, e effects.Effect, do func(context.Context) error) error {
	what := fmt.Sprintf("%s %s", e.Kind, e.What)
	w.did = append(w.did, what)
	if w.failure != nil {
		if err := w.failure(what); err != nil {
			return err
		}
	}
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
		w.reconcile()
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		if len(w.did) == before {
			w.must(admin.Get(w.t.Context(), w.key(), w.object))
			return
		}
	}
	w.t.Fatalf("it does not come to rest: %q", w.did)
}

// reconcile reconciles once, by another operator if an accident ended the one before.
func (w *world) reconcile() {
	w.accident.Restart()
	_, _ = w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key()})
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	d := &appsv1.Deployment{}
	w.must(admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: "sample-deployment"}, d))
	return d
}

// rollsOut does what the controllers would: a ReplicaSet of the Deployment has pods of its
// template.
func (w *world) rollsOut() {
	w.t.Helper()
	w.must(admin.DeleteAllOf(w.t.Context(), &corev1.Pod{}, client.InNamespace(w.object.Namespace), client.GracePeriodSeconds(0)))
	d := w.deployment()
	replicaSet := w.replicaSetOf(d)
	n := *d.Spec.Replicas
	for i := range n {
		w.podOf(replicaSet, fmt.Sprintf("%s-%d", d.Name, i))
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n}
	w.must(admin.Status().Update(w.t.Context(), d))
}

func (w *world) replicaSetOf(d *appsv1.Deployment) *appsv1.ReplicaSet {
	w.t.Helper()
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, GenerateName: d.Name + "-", Labels: d.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template},
	}
	w.must(admin.Create(w.t.Context(), replicaSet))
	return replicaSet
}

func (w *world) podOf(replicaSet *appsv1.ReplicaSet, name string) {
	w.t.Helper()
	w.must(admin.Create(w.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: replicaSet.Namespace, Name: name, Labels: replicaSet.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: *replicaSet.Spec.Template.Spec.DeepCopy(),
	}))
}

// pod does what a kubelet or the scheduler would to the n-th pod.
func (w *world) pod(n int, change func(*corev1.PodStatus)) {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.must(admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: fmt.Sprintf("sample-deployment-%d", n)}, pod))
	change(&pod.Status)
	w.must(admin.Status().Update(w.t.Context(), pod))
}

func ready(status *corev1.PodStatus) {
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	status.ContainerStatuses = []corev1.ContainerStatus{{Name: "pulsarconsumer", Ready: true}}
}

// ended is an application that ended with a termination message, and waits to be
// restarted.
func ended(message string) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name:                 "pulsarconsumer",
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: message}},
		}}
	}
}

// runs is an application that is not ready, since so long after it started; before
// it, if that is negative.
func runs(notReadyAfter time.Duration) func(*corev1.PodStatus) {
	started := time.Now().Truncate(time.Second)
	return func(status *corev1.PodStatus) {
		status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(started.Add(notReadyAfter)),
		}}
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "pulsarconsumer", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
		}}
	}
}

func waits(reason, message string) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "pulsarconsumer", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

// consumes leads the world to its last phase.
func (w *world) consumes() {
	w.t.Helper()
	w.settle()
	w.rollsOut()
	for i := range *w.object.Spec.Replicas {
		w.pod(int(i), ready)
	}
	w.settle()
	w.is("Consuming", "")
}

// is asserts where the PulsarConsumer has come to, and that a person can read why.
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
