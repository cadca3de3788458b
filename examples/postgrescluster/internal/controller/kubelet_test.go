package controller

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/membertest"
)

// A kubelet runs the pods of a namespace as processes of this machine: the program member
// and PostgreSQL are real, the container is not. A member listens on the address of its
// Service; its volume goes with its claim.
type kubelet struct {
	t         *testing.T
	namespace string
	now       func() time.Time

	mu        sync.Mutex
	processes map[types.UID]*membertest.Process
	volumes   map[types.UID]string
	// volume makes one.
	volume func(*testing.T) string
	// held are the names of pods that do not start: their node is lost.
	held map[string]bool
}

func startKubelet(t *testing.T, namespace string, now func() time.Time) *kubelet {
	k := &kubelet{t: t, namespace: namespace, now: now, processes: map[types.UID]*membertest.Process{}, volumes: map[types.UID]string{}, volume: membertest.Volume, held: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { wait.UntilWithContext(ctx, k.sync, 50*time.Millisecond) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return k
}

func (k *kubelet) sync(ctx context.Context) {
	var pods corev1.PodList
	if err := admin.List(ctx, &pods, client.InNamespace(k.namespace)); err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range pods.Items {
		pod := &pods.Items[i]
		process := k.processes[pod.UID]
		switch {
		case !pod.DeletionTimestamp.IsZero():
			if process != nil {
				process.Stop()
			}
			_ = admin.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		case process == nil && !k.held[pod.Name]:
			k.start(ctx, pod)
		case process != nil && pod.Status.Phase == corev1.PodRunning:
			select {
			case <-process.Done():
				k.ended(ctx, pod, process)
			default:
			}
		}
	}
}

// start binds a pod, as a scheduler would, and runs it.
func (k *kubelet) start(ctx context.Context, pod *corev1.Pod) {
	volumes, ok := k.mount(ctx, pod)
	if !ok {
		return
	}
	container, service, secret := pod.Spec.Containers[0], &corev1.Service{}, &corev1.Secret{}
	var env []string
	address := ""
	for _, e := range container.Env {
		if ref := e.ValueFrom; ref != nil {
			if admin.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: ref.SecretKeyRef.Name}, secret) != nil {
				return
			}
			e.Value = string(secret.Data[ref.SecretKeyRef.Key])
		}
		if dir, ok := volumes[e.Value]; ok {
			e.Value = dir
		}
		if e.Name == member.EnvAddress {
			if admin.Get(ctx, client.ObjectKeyFromObject(pod), service) != nil {
				return
			}
			e.Value = service.Spec.ClusterIP
			address = e.Value
		}
		env = append(env, e.Name+"="+e.Value)
	}
	if pod.Spec.NodeName == "" && admin.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}) != nil {
		return
	}
	if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
		return
	}
	k.processes[pod.UID] = membertest.Start(k.t, member.Verb(container.Args[0]), "", address, env...)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(k.now())}}}}
	_ = admin.Status().Update(ctx, pod)
}

// mount returns the directories of a pod's claims by their paths in the container; false
// if a claim is missing.
func (k *kubelet) mount(ctx context.Context, pod *corev1.Pod) (map[string]string, bool) {
	dirs := map[string]string{}
	for i, volume := range pod.Spec.Volumes {
		claim := &corev1.PersistentVolumeClaim{}
		if admin.Get(ctx, client.ObjectKey{Namespace: k.namespace, Name: volume.PersistentVolumeClaim.ClaimName}, claim) != nil {
			return nil, false
		}
		if k.volumes[claim.UID] == "" {
			k.volumes[claim.UID] = k.volume(k.t)
			k.bind(ctx, claim)
		}
		dirs[pod.Spec.Containers[0].VolumeMounts[i].MountPath] = k.volumes[claim.UID]
	}
	return dirs, true
}

// bind does what the controller of volumes would.
func (k *kubelet) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) {
	claim.Spec.VolumeName = "volume-" + string(claim.UID)
	if err := admin.Update(ctx, claim); err != nil {
		return
	}
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
	_ = admin.Status().Update(ctx, claim)
}

func (k *kubelet) ended(ctx context.Context, pod *corev1.Pod, process *membertest.Process) {
	started := pod.Status.ContainerStatuses[0].State.Running.StartedAt
	pod.Status.Phase = corev1.PodFailed
	if process.Succeeded() {
		pod.Status.Phase = corev1.PodSucceeded
	}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "Ended", Message: process.Message(), StartedAt: started, FinishedAt: metav1.NewTime(k.now()),
	}}
	_ = admin.Status().Update(ctx, pod)
}

// kill ends the processes of a member as the end of its container would. While it is held,
// it does not come back.
func (k *kubelet) kill(name string, hold bool) {
	k.t.Helper()
	pod := &corev1.Pod{}
	if err := admin.Get(k.t.Context(), client.ObjectKey{Namespace: k.namespace, Name: name}, pod); err != nil {
		k.t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[name] = hold
	if p := k.processes[pod.UID]; p != nil {
		p.Kill()
	}
}

// hold keeps a member from starting.
func (k *kubelet) hold(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[name] = true
}

// release lets a member start again.
func (k *kubelet) release(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[name] = false
}

// loseClaim empties the volume of a claim, and returns the one that it was.
func (k *kubelet) loseClaim(name string) string {
	k.t.Helper()
	return k.exchangeVolume(name, membertest.Volume(k.t))
}

// returnClaim gives a claim its volume back.
func (k *kubelet) returnClaim(name, volume string) {
	k.t.Helper()
	k.exchangeVolume(name, volume)
}

func (k *kubelet) exchangeVolume(name, volume string) string {
	k.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	if err := admin.Get(k.t.Context(), client.ObjectKey{Namespace: k.namespace, Name: name}, claim); err != nil {
		k.t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.volumes[claim.UID]
	k.volumes[claim.UID] = volume
	return old
}
