//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/controlplane"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

const (
	containerName = "app"
	podsPerNode   = 50
	// creators is how many pods are created at once.
	creators = 16
)

// namespaces are where the fleets are: all pods in one, where each exporter sees those of all
// others, or half of them in each, which belong to different ones of two shards.
var namespaces = []string{"fleet", "other-fleet"}

// world is an API server with nodes, and a fleet in some namespaces of it.
type world struct {
	fleet       size
	namespaces  []string
	dir         string
	environment *envtest.Environment
	config      *rest.Config
	client      client.Client
	containers  *fakenode.Containers
	kubelet     *fakenode.Kubelet
	pods        []*corev1.Pod
	// restarts counts the containers that were started again.
	restarts int
}

// newWorld starts an API server with the fleet's nodes. The caller must close the world.
func newWorld(ctx context.Context, s size, namespaces []string) (w *world, err error) {
	w = &world{fleet: s, namespaces: namespaces}
	if w.dir, err = os.MkdirTemp("", "bench-fleet-"); err != nil {
		return w, err
	}
	if w.environment, err = controlplane.New(); err != nil {
		return w, err
	}
	scheme := runtime.NewScheme()
	if err := controlplane.AddToScheme(scheme); err != nil {
		return w, err
	}
	if w.config, err = w.environment.Start(); err != nil {
		return w, err
	}
	w.config.QPS = -1
	if w.client, err = client.New(w.config, client.Options{Scheme: scheme}); err != nil {
		return w, err
	}
	w.containers = fakenode.Below(w.dir)
	w.kubelet = fakenode.NewKubelet(w.containers)
	for i := range (s.all() + podsPerNode - 1) / podsPerNode {
		if err := w.kubelet.Register(ctx, w.client, nodeOf(i*podsPerNode)); err != nil {
			return w, err
		}
	}
	for _, namespace := range namespaces {
		if err := w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w *world) close() error {
	var errs []error
	if w.kubelet != nil {
		w.kubelet.Close()
	}
	if w.environment != nil {
		errs = append(errs, w.environment.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

func nodeOf(pod int) string { return fmt.Sprintf("node-%03d", pod/podsPerNode) }

// run creates all pods, and runs their containers.
func (w *world) run(ctx context.Context) error {
	w.pods = make([]*corev1.Pod, w.fleet.all())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range w.pods {
		group.Go(func() error {
			w.pods[i] = w.pod(i)
			if err := w.client.Create(ctx, w.pods[i]); err != nil {
				return err
			}
			if i < w.fleet.Pods {
				w.kubelet.Run(w.pods[i], w.pods[i].UID)
			}
			return w.startContainer(ctx, i, 0)
		})
	}
	return group.Wait()
}

// pod is a pod of a Deployment: one for each exporter.
func (w *world) pod(i int) *corev1.Pod {
	app := "other"
	if i < w.fleet.Pods {
		app = appOf(i % w.fleet.Exporters)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespaces[i%len(w.namespaces)], Name: fmt.Sprintf("%s-7c9d8b6f5d-%05d", app, i)}}
	pod.Labels = map[string]string{"app": app, "app.kubernetes.io/version": "1.2.3", "pod-template-hash": "7c9d8b6f5d"}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-7c9d8b6f5d", UID: types.UID(app), Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = nodeOf(i), new(int64(0))
	pod.Spec.Volumes = []corev1.Volume{{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers = []corev1.Container{{
		Name: containerName, Image: "registry.example/shop/checkout:1.2.3",
		Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
		Resources:    corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
	}}
	return pod
}

// startContainer starts the container of a pod, in place of the one that runs. Nobody looks
// into those of others.
func (w *world) startContainer(ctx context.Context, i, restarts int) error {
	pod, id := w.pods[i], fmt.Sprintf("containerd://%032x%032x", i, restarts)
	if i < w.fleet.Pods {
		jvm := fakenode.NewJVM(fakenode.JavaStartTime + uint64(restarts*w.fleet.Pods+i))
		w.containers.Start(pod.UID, containerName, jvm).ID = id
	}
	before := pod.DeepCopy()
	ip := fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255)
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: containerName, Ready: true, ContainerID: id, RestartCount: int32(restarts),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Hour))}},
		}},
	}
	return w.client.Status().Patch(ctx, pod, client.MergeFrom(before))
}

func appOf(exporter int) string { return fmt.Sprintf("app-%03d", exporter) }

// configure writes the ConfigMap that all exporters of a namespace use.
func (w *world) configure(ctx context.Context, content string) error {
	for _, namespace := range w.namespaces {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rules"}, Data: map[string]string{"config.yaml": content}}
		err := w.client.Create(ctx, configMap)
		if apierrors.IsAlreadyExists(err) {
			err = w.client.Update(ctx, configMap)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// export creates the exporters. Their rollouts wait for nothing.
func (w *world) export(ctx context.Context) error {
	for _, namespace := range w.namespaces {
		for i := range w.fleet.Exporters {
			if err := w.client.Create(ctx, exporter(namespace, appOf(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

func exporter(namespace, app string) *v1alpha1.PrometheusJmxExporter {
	return &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app}, Spec: v1alpha1.PrometheusJmxExporterSpec{
		LabelSelector: map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(app)},
		Config:        v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "config.yaml"},
		Rollout: v1alpha1.Rollout{
			MaxConcurrent: 1000, MaxConcurrentPerNode: 1000, Canary: v1alpha1.Canary{Count: new(int32(0))}, RestartWindow: &metav1.Duration{},
		},
	}}
}

// updated waits until all pods are attached with another revision than one, and returns the
// new one of the first exporter.
func (w *world) updated(ctx context.Context, before string) (revision string, err error) {
	for told := time.Now(); ; {
		var list v1alpha1.PrometheusJmxExporterList
		if err := w.client.List(ctx, &list); err != nil {
			return "", err
		}
		pods := 0
		for _, e := range list.Items {
			var annotated, matched int
			_, _ = fmt.Sscanf(e.Status.Pods, "%d/%d", &annotated, &matched)
			if e.Status.Revision != before && int(e.Status.Updated) == matched && e.Name != turnName {
				pods += annotated
			}
		}
		if pods == w.fleet.Pods {
			return list.Items[0].Status.Revision, nil
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%s: %d attached\n", w.fleet, pods)
		}
		if err := pause(ctx, time.Second); err != nil {
			return "", err
		}
	}
}

// restart starts the container of a pod again.
func (w *world) restart(ctx context.Context, i int) error {
	w.restarts++
	return w.startContainer(ctx, i, w.restarts)
}

// reattached waits until the container that runs in a pod is attached.
func (w *world) reattached(ctx context.Context, i int) error {
	pod := w.pods[i]
	for {
		var list v1alpha1.JmxAttachmentList
		if err := w.client.List(ctx, &list, client.InNamespace(pod.Namespace)); err != nil {
			return err
		}
		for _, a := range list.Items {
			if a.Spec.Pod.UID == pod.UID && a.Status.Phase == v1alpha1.PhaseAnnotated && a.Status.Processes[0].ContainerID == pod.Status.ContainerStatuses[0].ContainerID {
				return nil
			}
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
