package funcs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

const (
	steadyLook = 5 * time.Second
	// steadyLosses is how often that begins anew because the operator lost its lease.
	steadyLosses = 2
)

// effects of the operator that change something, or run something in a pod.
var effects = []string{`{kind="exec"`, `{kind="apply"`, `{kind="delete"`, `{kind="logs"`}

// Steady asserts that the operator does nothing for a while: none of its objects
// and no pod of the namespace is written, nothing is run in any pod. Here, and
// nowhere else, time passes: that nothing happens is what is asserted. Where the
// operator loses its lease meanwhile, as it has to on a machine that stood still,
// another one begins, and so does the time. No feature runs beside this one.
func (s *Suite) Steady(namespace string, lasts time.Duration) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		for losses := 0; !s.steadyFor(ctx, t, c, namespace, lasts, losses); losses++ {
		}
	})
}

// steadyFor is Steady for a time, after so many losses of the lease. It is false if
// there was another one meanwhile, and that is forgiven.
func (s *Suite) steadyFor(ctx context.Context, t *testing.T, c *cluster, namespace string, lasts time.Duration, losses int) bool {
	t.Helper()
	look := func(ctx context.Context) (quiet, error) { return c.quiet(ctx, namespace) }
	last := c.settled(ctx, t, look)
	for _, kind := range effects[:2] {
		if losses == 0 && last.done[kind] == 0 {
			t.Fatalf("the operator counts no effects of %s: %v", kind, last.done)
		}
	}
	operator := c.theOperator(ctx, t)
	if err := s.ranThrough(ctx, c, operator); err != nil {
		t.Fatal(err)
	}
	s.acquaint(operator)
	begin, now := time.Now(), last
	for time.Since(begin) < lasts {
		time.Sleep(steadyLook)
		now = answer(ctx, t, look)
		err := last.differs(now)
		if err == nil {
			continue
		}
		err = fmt.Errorf("after %s: %w", time.Since(begin).Round(time.Second), err)
		if !last.restarted(now) || losses == steadyLosses {
			t.Fatal(err)
		}
		s.lostLease(ctx, t, c, err)
		return false
	}
	all := answer(ctx, t, func(ctx context.Context) (v1alpha1.JmxAttachmentList, error) {
		var all v1alpha1.JmxAttachmentList
		err := c.List(ctx, &all)
		return all, err
	})
	t.Logf("in %s: %d objects unchanged; execs %v, applies %v, deletes %v as before; with %d records in the cluster, asked over HTTP %v times, reconciled records %v times, exporters %v times",
		time.Since(begin).Round(time.Second), len(now.versions), now.done[effects[0]], now.done[effects[1]], now.done[effects[2]],
		len(all.Items), now.asked-last.asked, now.records-last.records, now.exporters-last.exporters)
	if now.asked == last.asked {
		t.Error("no endpoint was asked whether it is still there")
	}
	return true
}

// settled waits until what other features have left to do, or an operator that
// has just begun, has come to its end.
func (c *cluster) settled(ctx context.Context, t *testing.T, look func(context.Context) (quiet, error)) quiet {
	t.Helper()
	last := answer(ctx, t, look)
	eventually(ctx, t, func(ctx context.Context) error {
		before := last
		time.Sleep(steadyLook)
		var err error
		if last, err = look(ctx); err != nil {
			return err
		}
		return errors.Join(before.differs(last), c.ended(ctx))
	})
	return last
}

// lostLease waits until the operator's pod says that it was restarted, and asserts
// that it was for the loss of its lease.
func (s *Suite) lostLease(ctx context.Context, t *testing.T, c *cluster, why error) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		operator, err := c.operator(ctx)
		if err != nil {
			return err
		}
		if string(operator.UID) != s.operatorUID || restarts(*operator) == s.restartsBefore {
			return fmt.Errorf("%w; but it was not restarted in its pod", why)
		}
		if err := s.ranThrough(ctx, c, operator); err != nil {
			t.Fatal(errors.Join(why, err))
		}
		return nil
	})
	t.Logf("%v; it had lost its lease, so the time begins anew", why)
}

// quiet is what stays the same while nothing happens, and some of what does not.
type quiet struct {
	operator string
	// versions are the resource versions of objects.
	versions map[string]string
	// done counts effects by their kind.
	done                      map[string]float64
	asked, records, exporters float64
}

func (c *cluster) quiet(ctx context.Context, namespace string) (quiet, error) {
	operator, err := c.operator(ctx)
	if err != nil {
		return quiet{}, err
	}
	q := quiet{operator: fmt.Sprintf("%s %d", operator.UID, restarts(*operator)), versions: map[string]string{}, done: map[string]float64{}}
	ours := client.HasLabels{v1alpha1.LabelExporterUID}
	for _, l := range []struct {
		list   client.ObjectList
		option []client.ListOption
	}{
		{list: &v1alpha1.PrometheusJmxExporterList{}},
		{list: &v1alpha1.JmxAttachmentList{}},
		{list: &corev1.PodList{}},
		{list: &corev1.ServiceList{}, option: []client.ListOption{ours}},
		{list: &discoveryv1.EndpointSliceList{}, option: []client.ListOption{ours}},
	} {
		if err := c.List(ctx, l.list, append(l.option, client.InNamespace(namespace))...); err != nil {
			return quiet{}, err
		}
		if meta.LenList(l.list) == 0 {
			return quiet{}, fmt.Errorf("%T: there are none", l.list)
		}
		_ = meta.EachListItem(l.list, func(o runtime.Object) error {
			object := o.(client.Object)
			q.versions[fmt.Sprintf("%T %s", o, object.GetName())] = object.GetResourceVersion()
			return nil
		})
	}
	measured, err := c.measured(ctx)
	if err != nil {
		return quiet{}, err
	}
	for _, kind := range effects {
		q.done[kind] = measured.sum("jmx_exporter_operator_effects_total" + kind)
	}
	q.asked = measured.sum(`jmx_exporter_operator_effects_total{kind="http"`)
	q.records = measured.sum(`controller_runtime_reconcile_total{controller="jmxattachment"`)
	q.exporters = measured.sum(`controller_runtime_reconcile_total{controller="prometheusjmxexporter"`)
	return q, nil
}

// ended reports whether the namespaces of features that have ended are gone: until
// then the operator writes there, and tries again after pauses.
func (c *cluster) ended(ctx context.Context) error {
	var namespaces corev1.NamespaceList
	if err := c.List(ctx, &namespaces, client.HasLabels{labelFeature}); err != nil {
		return err
	}
	for _, n := range namespaces.Items {
		if !n.DeletionTimestamp.IsZero() {
			return fmt.Errorf("namespace %s is about to go", n.Name)
		}
	}
	return nil
}

// restarted reports whether another process counts now: its pod says that a moment
// later.
func (q quiet) restarted(now quiet) bool {
	for kind, n := range q.done {
		if now.done[kind] < n {
			return true
		}
	}
	return q.operator != now.operator || now.records < q.records || now.exporters < q.exporters
}

func (q quiet) differs(now quiet) error {
	if q.operator != now.operator {
		return fmt.Errorf("the operator is another one: %s, not %s", now.operator, q.operator)
	}
	if !maps.Equal(q.done, now.done) {
		return fmt.Errorf("the operator has done %v, before %v", now.done, q.done)
	}
	for _, name := range slices.Sorted(maps.Keys(now.versions)) {
		if q.versions[name] != now.versions[name] {
			return fmt.Errorf("%s was written: version %s, not %q", name, now.versions[name], q.versions[name])
		}
	}
	if len(q.versions) != len(now.versions) {
		return fmt.Errorf("there are %d objects, not %d", len(now.versions), len(q.versions))
	}
	return nil
}
