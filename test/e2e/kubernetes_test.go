//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The version of the nodes is the selected one. It is also for the table of
// docs/compatibility.md: hack/compatibility.
func TestKubernetes(t *testing.T) {
	var nodes corev1.NodeList
	if err := testenv.EnvConf().Client().Resources().List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	selected := os.Getenv("KUBERNETES")
	for _, node := range nodes.Items {
		version := strings.TrimPrefix(node.Status.NodeInfo.KubeletVersion, "v")
		t.Attr("kubernetes", version)
		if selected != "" && !strings.HasPrefix(version, selected+".") {
			t.Errorf("node %s is of Kubernetes %s instead of %s", node.Name, version, selected)
		}
	}
}
