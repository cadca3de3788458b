package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

func TestPhases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle()
	w.is("Deployed", ReasonRollingOut)
	w.rollsOut()
	w.settle()
	w.is("RolledOut", ReasonSubscribing)
	w.pod(0, ready)
	w.settle()
	w.is("RolledOut", ReasonSubscribing)
	w.pod(1, ready)
	w.settle()
	w.is("Consuming", "")
	status := w.object.Status
	if status.Server != "pulsar://broker:6650" || status.Topic != "orders" || status.Subscription != "logger" || status.Replicas != 2 {
		t.Errorf("observed is %+v", status)
	}

	before, version := len(w.did), w.object.ResourceVersion
	w.settle()
	if after := len(w.did); after != before || w.object.ResourceVersion != version {
		t.Errorf("though nothing differs, it did %q", w.did[before:])
	}

	// What the status says is what runs, not what is wanted.
	w.object.Spec.Topic = "returns"
	w.must(admin.Update(t.Context(), w.object))
	w.settle()
	w.is("Deployed", ReasonRollingOut)
	if topic := w.object.Status.Topic; topic != "orders" {
		t.Errorf("the topic is %q before a pod consumes it", topic)
	}
	w.consumes()
	if topic := w.object.Status.Topic; topic != "returns" {
		t.Errorf("the topic is %q", topic)
	}
}

// Each field has one writer, who applies it.
func TestFieldOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.consumes()
	for object, want := range map[client.Object]string{
		w.object:       `pulsarconsumer-operator/status Apply status: f:status`,
		w.deployment(): `pulsarconsumer-operator Apply : f:metadata f:spec`,
	} {
		var got []string
		for _, entry := range object.GetManagedFields() {
			if !strings.HasPrefix(entry.Manager, string(owner)) {
				continue // who created it, and who does what a controller would
			}
			var fields map[string]any
			w.must(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields))
			got = append(got, fmt.Sprintf("%s %s %s: %s", entry.Manager, entry.Operation, entry.Subresource, strings.Join(slices.Sorted(maps.Keys(fields)), " ")))
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("of %T the operator owns %q, want %q", object, got, want)
		}
	}
}

// The scale subresource is what kubectl scale, HPA and KEDA use.
func TestScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.consumes()
	for _, replicas := range []int32{3, 1, 0, 2} {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		w.must(admin.SubResource("scale").Update(t.Context(), w.object, client.WithSubResourceBody(scale)))
		w.settle()
		if n := *w.deployment().Spec.Replicas; n != replicas {
			t.Errorf("the Deployment has %d replicas, not %d", n, replicas)
		}
		w.is("Deployed", ReasonRollingOut)
		w.consumes()
		w.must(admin.SubResource("scale").Get(t.Context(), w.object, scale))
		if scale.Status.Replicas != replicas || scale.Status.Selector != "app.kubernetes.io/instance=sample,app.kubernetes.io/name=pulsarconsumer" {
			t.Errorf("the scale is %+v, not of %d", scale.Status, replicas)
		}
	}
}

// Pods with the labels that the Deployment does not own are nobody's replicas.
func TestForeignPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle()
	w.rollsOut()
	w.pod(0, ready)
	// Another Deployment of the same labels, whose pod would make up the number.
	other := w.foreignDeployment()
	other.Name, other.Spec.Selector.MatchLabels = "other-deployment", labelsOf("sample")
	other.Spec.Template.Labels = labelsOf("sample")
	w.must(admin.Create(t.Context(), other))
	w.podOf(w.replicaSetOf(other), "sample-deployment-2")
	w.pod(2, ready)
	w.settle()
	w.is("RolledOut", ReasonSubscribing)
	if n := w.object.Status.Replicas; n != 1 {
		t.Errorf("%d pods are counted", n)
	}
	w.pod(1, ready)
	w.pod(2, ended("TopicNotFound: topic other does not exist"))
	w.settle()
	w.is("Consuming", "")
}

// What keeps pods from consuming is said in the words of who knows, and written once.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pod                    func(*corev1.PodStatus)
		phase, reason, message string
	}{
		"the broker cannot be reached": {ended("BrokerUnreachable: dial tcp: lookup broker: no such host\n"), "RolledOut", ReasonBrokerUnreachable, "dial tcp: lookup broker: no such host"},
		"the broker is gone": {func(status *corev1.PodStatus) { // what ended the container before is the past
			ended("TopicNotFound: topic orders does not exist")(status)
			before := status.ContainerStatuses[0].LastTerminationState
			runs(time.Minute)(status)
			status.ContainerStatuses[0].LastTerminationState = before
		}, "RolledOut", ReasonBrokerUnreachable, "lost its subscription"},
		"it subscribes":               {runs(-time.Minute), "RolledOut", ReasonSubscribing, "2 pods"},
		"there is no topic":           {ended("TopicNotFound: topic orders does not exist"), "RolledOut", ReasonTopicNotFound, "topic orders does not exist"},
		"the subscription is refused": {ended("SubscribeFailed: ConsumerBusy"), "RolledOut", ReasonSubscribeFailed, "ConsumerBusy"},
		"the broker says a lot":       {ended("SubscribeFailed: " + strings.Repeat("no ", 1000)), "RolledOut", ReasonSubscribeFailed, "no no"},
		"it crashes":                  {ended("panic"), "RolledOut", "CrashLoopBackOff", "exit code 1"},
		"no image":                    {waits("ErrImagePull", "image: not found"), "RolledOut", "ImagePullBackOff", "image: not found"},
		"still no image":              {waits("ImagePullBackOff", `Back-off pulling image "consumer:1": ErrImagePull: image: not found`), "RolledOut", "ImagePullBackOff", "image: not found"},
		"no node": {func(status *corev1.PodStatus) {
			status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}
		}, "RolledOut", "Unschedulable", "0/3 nodes"},
		"it is created": {waits("ContainerCreating", ""), "RolledOut", ReasonSubscribing, "2 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.settle()
			w.rollsOut()
			w.pod(0, ready)
			w.pod(1, tc.pod)
			w.settle()
			w.is(tc.phase, tc.reason)
			if said := w.object.Status.Message; !strings.Contains(said, tc.message) || strings.Contains(said, "Back-off") {
				t.Errorf("it says %q", w.object.Status.Message)
			}
			before := len(w.did)
			w.settle()
			if len(w.did) != before {
				t.Errorf("though nothing differs, it did %q", w.did[before:])
			}
			w.pod(1, ready)
			w.settle()
			w.is("Consuming", "")
		})
	}
}

// The API server refuses what cannot work.
func TestValidation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		change func(*v1.PulsarConsumer)
		says   string
	}{
		"no scheme":             {func(c *v1.PulsarConsumer) { c.Spec.ServerAddress = "broker:6650" }, "spec.serverAddress"},
		"another scheme":        {func(c *v1.PulsarConsumer) { c.Spec.ServerAddress = "http://broker:8080" }, "spec.serverAddress"},
		"no address":            {func(c *v1.PulsarConsumer) { c.Spec.ServerAddress = "" }, "spec.serverAddress"},
		"no topic":              {func(c *v1.PulsarConsumer) { c.Spec.Topic = "" }, "spec.topic"},
		"half a topic":          {func(c *v1.PulsarConsumer) { c.Spec.Topic = "persistent://orders" }, "spec.topic"},
		"no subscription":       {func(c *v1.PulsarConsumer) { c.Spec.SubscriptionName = "" }, "spec.subscriptionName"},
		"no number of replicas": {func(c *v1.PulsarConsumer) { c.Spec.Replicas = nil }, "spec.replicas"},
		"fewer than none":       {func(c *v1.PulsarConsumer) { c.Spec.Replicas = new(int32(-1)) }, "spec.replicas"},
		"a name too long":       {func(c *v1.PulsarConsumer) { c.Name = strings.Repeat("a", 53) }, "at most 52 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			c := aConsumer(w.object.Namespace)
			c.Name = "other"
			tc.change(c)
			if err := admin.Create(t.Context(), c); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("the API server says %v", err)
			}
		})
	}
	c := aConsumer(w.object.Namespace)
	c.Name, c.Spec.ServerAddress, c.Spec.Topic = "other", "pulsar+ssl://a:6651,b:6651", "persistent://public/default/orders"
	w.must(admin.Create(t.Context(), c))
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*appsv1.Deployment){
		"another image": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" },
		"scaled":        func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) },
		"a variable is removed": func(d *appsv1.Deployment) {
			env := &d.Spec.Template.Spec.Containers[0].Env
			*env = (*env)[:2]
		},
		"a variable is another": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env[1].Value = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.settle()
			before := w.deployment().Spec
			d := w.deployment()
			change(d)
			d.Labels = map[string]string{"team": "red"}
			w.must(admin.Update(t.Context(), d))
			w.settle()
			d = w.deployment()
			if !equality.Semantic.DeepEqual(d.Spec, before) {
				t.Errorf("the Deployment is %+v", d.Spec)
			}
			if d.Labels["team"] != "red" {
				t.Error("a foreign label is gone")
			}
		})
	}
}

// The labels of the PulsarConsumer, which people change, are not the Deployment's: its selector
// cannot be changed.
func TestLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, team := range []string{"red", "blue"} {
		w.object.Labels = map[string]string{"team": team, "app.kubernetes.io/name": team}
		w.must(admin.Update(t.Context(), w.object))
		w.consumes()
		d, want := w.deployment(), labelsOf("sample")
		if !maps.Equal(d.Spec.Selector.MatchLabels, want) || !maps.Equal(d.Spec.Template.Labels, want) {
			t.Errorf("the Deployment selects %v, and its pods have %v; want %v", d.Spec.Selector.MatchLabels, d.Spec.Template.Labels, want)
		}
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
		ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "sample-deployment"},
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
