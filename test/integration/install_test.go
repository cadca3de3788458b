package integration

import (
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/internal/policies"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Every way of installing the operator, in config, the chart and the documentation, is accepted by
// the API server, and its policies admit what the operator of its Deployment does, and
// nothing else. Not parallel: some policies are for the whole cluster.
func TestInstallations(t *testing.T) {
	nodeWithoutKubelet(t)
	installMonitors(t)
	all := installations(t)
	for name, folder := range all {
		all[name] = forKubernetes(t, folder)
	}
	maps.Copy(all, charts(t))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			i := &installation{contained: &contained{cluster: newCluster(t)}, transport: v1alpha1.TransportAuto}
			defer i.remove()
			i.apply(all[name])
			i.admitsItsOperator()
		})
	}
}

// installMonitors installs the kinds of prometheus-operator.
func installMonitors(t *testing.T) {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator")
	download.Dir = "../../hack/tools/prometheus-operator"
	output, err := download.Output()
	if err != nil {
		t.Fatal(err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		t.Fatal(err)
	}
	_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Paths: []string{filepath.Join(module.Dir, "example/prometheus-operator-crd")}, ErrorIfPathMissing: true, MaxTime: environment.CRDInstallOptions.MaxTime,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// installation is an applied installation, and a pod that its operator may attach to.
type installation struct {
	*contained
	// image and transport are those of the operator's Deployment.
	image     string
	transport v1alpha1.Transport
	// pod is one that it may attach to.
	pod     *corev1.Pod
	objects []*unstructured.Unstructured
}

// apply applies what kustomize builds of a folder.
func (i *installation) apply(folder string) {
	i.t.Helper()
	strict := client.WithFieldValidation(admin, metav1.FieldValidationStrict)
	namespaced := true
	for _, object := range built(i.t, folder) {
		i.within(object.GetNamespace())
		if err := strict.Apply(i.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("installer"), client.ForceOwnership); err != nil {
			i.t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
		switch object.GetKind() {
		case "ClusterRole":
			namespaced = namespaced && object.GetName() != "jmx-exporter-operator"
		case "Deployment":
			i.operator(object)
		case "DaemonSet":
			i.agent = i.runsAgent(object)
		}
		i.objects = append(i.objects, object)
	}
	if i.config == nil {
		i.t.Fatal("there is no Deployment")
	}
	if namespaced {
		i.namespace = i.home.Namespace
	}
	i.optIn("enabled") // for config/tenants
	i.pod = i.run(aPod("app-0"))
}

// remove deletes what was applied: the policies first, so that it can be seen when they
// are no longer effective. Namespaces stay, because nothing would end their deletion, and
// the kinds, because other tests use them.
func (i *installation) remove() {
	policies := func(o *unstructured.Unstructured) bool { return strings.Contains(o.GetKind(), "AdmissionPolicy") }
	i.delete(policies)
	if i.pod != nil {
		eventually(i.t, func() bool { return !deniedByAny(i.execs("app", "id")) })
		remove(i.t, i.pod)
		remove(i.t, i.home)
		if i.agent != nil {
			remove(i.t, i.agent)
		}
	}
	i.delete(func(o *unstructured.Unstructured) bool {
		return !policies(o) && o.GetKind() != "Namespace" && o.GetKind() != "CustomResourceDefinition"
	})
}

func (i *installation) delete(which func(*unstructured.Unstructured) bool) {
	for _, object := range i.objects {
		if which(object) {
			remove(i.t, object)
		}
	}
}

// within creates the namespace that an object is in.
func (i *installation) within(name string) {
	i.t.Helper()
	if name == "" {
		return
	}
	err := admin.Create(i.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		i.t.Fatal(err)
	}
}

// operator makes the installation's client that of its Deployment's operator.
func (i *installation) operator(deployment *unstructured.Unstructured) {
	i.t.Helper()
	i.home = i.runsOperator(deployment)
	of := i.home.Spec
	i.image = of.Containers[0].Image
	for _, arg := range of.Containers[0].Args {
		if transport, ok := strings.CutPrefix(arg, "--transport="); ok {
			i.transport = v1alpha1.Transport(transport)
		}
	}
	i.config = i.boundTo(i.home)
}

func (i *installation) admitsItsOperator() {
	i.t.Helper()
	if i.agent != nil {
		i.admitsSessionsOfNode()
	}
	if i.transport == "Node" {
		if err := i.execs("app", acceptedCommands(i.t).Current...); err == nil || deniedByAny(err) || !strings.Contains(err.Error(), "cannot") {
			i.t.Errorf("exec of the operator's command with transport Node: got %v, want no right", err)
		}
		return
	}
	eventually(i.t, func() bool { return deniedByAny(i.execs("app", "id")) })
	if err := i.execs("app", acceptedCommands(i.t).Current...); deniedByAny(err) != (i.transport == v1alpha1.TransportEphemeralContainer) {
		i.t.Errorf("exec of the operator's command with transport %s: got %v", i.transport, err)
	}
	if i.transport == v1alpha1.TransportExec {
		return
	}
	eventually(i.t, func() bool {
		if i.opens("registry.example/evil:1") == v1alpha1.ReasonDoorRefused {
			return true
		}
		// The policy was not effective yet, so this pod has an ephemeral container now.
		remove(i.t, i.pod)
		i.pod = i.run(aPod("app-0"))
		return false
	})
	if got := i.opens(i.image); got != v1alpha1.ReasonDoorPending {
		i.t.Errorf("an ephemeral container of the operator's image %s: got reason %s, want %s", i.image, got, v1alpha1.ReasonDoorPending)
		return
	}
	get(i.t, i.pod)
	if err := i.execs(i.pod.Spec.EphemeralContainers[0].Name, transport.DoorCommand()...); err != nil {
		i.t.Errorf("exec in the operator's ephemeral container: got %v, want admission", err)
	}
}

func (i *installation) admitsSessionsOfNode() {
	i.t.Helper()
	inAgent := func(command ...string) error {
		return i.execsIn("", i.agent, policies.NodeContainer, command, false)[0].try()
	}
	eventually(i.t, func() bool { return deniedByAny(inAgent("id")) })
	if err := inAgent(policies.NodeCommand()...); err != nil {
		i.t.Errorf("a session in a node agent: got %v, want admission", err)
	}
}

// execs executes a command as the operator does.
func (i *installation) execs(container string, command ...string) error {
	return i.executes("WebSocket", i.pod, corev1.PodExecOptions{Container: container, Command: command, Stdin: true, Stdout: true, Stderr: true})
}

// opens adds an ephemeral container of an image as the operator does, and returns the
// reason for which there is no session in it yet.
func (i *installation) opens(image string) string {
	i.t.Helper()
	pods, err := manager.NewPods(i.config, effects.Direct)
	if err != nil {
		i.t.Fatal(err)
	}
	get(i.t, i.pod)
	in := i.inApp(i.pod)
	in.ID, in.Object = i.pod.Status.ContainerStatuses[0].ContainerID, i.pod
	_, err = transport.NewDoor(transport.NewExec(nil, artifacts, effects.Direct, transport.NewLimits(1, 1, 1)), pods, transport.DoorOptions{Image: image}).Open(i.t.Context(), in)
	known, ok := errors.AsType[*transport.Error](err)
	if !ok {
		i.t.Fatalf("got %v", err)
	}
	return known.Reason
}
