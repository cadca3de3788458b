package transport

import (
	"context"
	"errors"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// An exec into a node agent that RBAC or a policy denies is tried once for all containers of the
// node, with backoff, until there is another agent.
func TestNodeExecIsDenied(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		err  error
		want string
		says string
	}{
		"RBAC":     {apierrors.NewForbidden(pods, "agent", errors.New(`User "x" cannot create resource "pods/exec"`)), v1alpha1.ReasonExecForbidden, "Role jmx-exporter-operator-node"},
		"a policy": {apierrors.NewForbidden(pods, "agent", errors.New(`ValidatingAdmissionPolicy 'no-exec' with binding 'all' denied request: no`)), v1alpha1.ReasonExecRefused, "'no-exec'"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				denied := true
				streams := &execs{}
				streams.Streams = streamsFunc(func(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
					if denied && in.Node == "node-1" {
						return tc.err
					}
					return agentsWith(helpful).Stream(ctx, in, command, stdin, stdout, stderr)
				})
				n := aNode(t, streams)
				agent := agentOn("node-1")
				n.agents.agents = agentsFunc(func(_ context.Context, node string) (Container, error) {
					if node != "node-1" {
						return agentOn(node), nil
					}
					return agent, nil
				})
				opens := 0
				isDenied := func() {
					t.Helper()
					opens++
					in := viaNode
					in.PodUID = types.UID(strconv.Itoa(opens))
					_, err := n.Open(t.Context(), in)
					wantError(t, err, tc.want, tc.says)
					synctest.Wait()
				}
				for tries := range 3 {
					for range 10 {
						isDenied()
					}
					if got := streams.on("node-1"); got != tries+1 {
						t.Fatalf("after %d waits: %d execs began, want %d", tries, got, tries+1)
					}
					wait := time.Second << tries
					time.Sleep(wait - time.Millisecond)
					isDenied()
					if got := streams.on("node-1"); got != tries+1 {
						t.Fatalf("within %s: %d execs began, want %d", wait, got, tries+1)
					}
					time.Sleep(wait/10 + 2*time.Millisecond) // the jitter
				}
				other := viaNode
				other.Node = "node-2"
				inspects(t, n.opens(t, other))
				isDenied()
				agent.PodUID = "next"
				isDenied()
				if got := streams.on("node-1"); got != 5 {
					t.Fatalf("after the next agent was asked: %d execs began, want 5", got)
				}
				denied = false
				isDenied()
				time.Sleep(3 * time.Second)
				s := n.opens(t, viaNode)
				inspects(t, s)
				s.Close()
				time.Sleep(2 * agentIdle)
				denied = true
				for range 3 {
					isDenied()
				}
				time.Sleep(1500 * time.Millisecond) // a first denial again
				denied = false
				inspects(t, n.opens(t, viaNode))
				if got := streams.on("node-1"); got != 8 {
					t.Errorf("after all: %d execs began, want 8", got)
				}
			})
		})
	}
}
