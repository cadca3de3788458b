package funcs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Fight takes our scrape annotation off the one pod of a namespace, again and again.
type Fight struct {
	namespace string
	taken     atomic.Int32
}

// FightIn is a fight over the one pod of a namespace.
func FightIn(namespace string) *Fight { return &Fight{namespace: namespace} }

// Begin begins to take it off, as a field manager, to the end of the feature: it
// belongs into a Setup.
func (f *Fight) Begin(manager string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pod := c.theOne(ctx, t, f.namespace)
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		over := make(chan struct{})
		t.Cleanup(func() { cancel(); <-over })
		without := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationScrape))
		go func() {
			defer close(over)
			for ctx.Err() == nil {
				if c.Get(ctx, client.ObjectKeyFromObject(pod), pod) == nil && pod.Annotations[v1alpha1.AnnotationScrape] != "" &&
					c.Client.Patch(ctx, pod, without, client.FieldOwner(manager)) == nil {
					f.taken.Add(1)
				}
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		}()
	})
}

// Over asserts that the annotation was put back so many times, by the record and
// by who took it off: that is once more.
func (f *Fight) Over(restores int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		all := attachmentsOf(f.namespace).all(ctx, t, c)
		if r := all[0].Status.Restores; r == nil || r.Count != restores {
			t.Errorf("the record says that annotations were put back: %+v, not %d times", r, restores)
		}
		if taken := f.taken.Load(); taken != restores+1 {
			t.Errorf("the annotation was taken off %d times, not %d", taken, restores+1)
		}
	})
}

// Peace has the operator look at the pod anew, and asserts that neither side
// has changed the pod.
func (f *Fight) Peace(exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		before := c.theOne(ctx, t, f.namespace)
		attempt := func(ctx context.Context) (string, error) {
			all, err := attachmentsOf(f.namespace)(ctx, c)
			if err != nil {
				return "", err
			}
			if s := all[0].Status; s.Reason != v1alpha1.ReasonAnnotationContested || s.Attempt == nil {
				return "", fmt.Errorf("%s: %s %s", all[0].Spec.Pod.Name, s.Phase, s.Reason)
			}
			return all[0].Status.Attempt.Key, nil
		}
		was := answer(ctx, t, attempt)
		taken := f.taken.Load()
		// A change of the exporter is a reason to try again what was given up.
		c.patchExporter(ctx, t, f.namespace, exporter, `{"spec":{"memoryHeadroom":"63Mi"}}`)
		eventually(ctx, t, func(ctx context.Context) error {
			is, err := attempt(ctx)
			if err == nil && is == was {
				err = errors.New("the record was not looked at since")
			}
			return err
		})
		after := c.theOne(ctx, t, f.namespace)
		if after.ResourceVersion != before.ResourceVersion || f.taken.Load() != taken {
			t.Errorf("the fight goes on: resourceVersion %s, before %s; annotations %v", after.ResourceVersion, before.ResourceVersion, after.Annotations)
		}
	})
}
