package integration

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// The node of these tests is fake: see the package.
type (
	containers = fakenode.Containers
	container  = fakenode.Container
	jvm        = fakenode.JVM
	kubelet    = fakenode.Kubelet
	helperFunc = fakenode.HelperFunc
)

const (
	javaPID       = fakenode.JavaPID
	javaStartTime = fakenode.JavaStartTime
)

func aJVM(startTime uint64) *jvm { return fakenode.NewJVM(startTime) }

func fault(reason string) error { return fakenode.Fault(reason) }

// aKubelet starts a kubelet and adds its node.
func aKubelet(t *testing.T, containers *containers, node string) *kubelet {
	t.Helper()
	k := fakenode.NewKubelet(containers)
	t.Cleanup(k.Close)
	if err := k.Register(t.Context(), admin, node); err != nil {
		t.Fatal(err)
	}
	return k
}
