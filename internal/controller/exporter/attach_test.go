package exporter

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// counting is an API server that counts applies; any other call panics.
type counting struct {
	client.Client
	mutex   sync.Mutex
	applies int
	takes   time.Duration // duration of each apply
	// fate returns the result of the n-th apply, from 1.
	fate func(n int) error
}

// Apply implements client.Client.
func (c *counting) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	time.Sleep(c.takes)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.applies++
	if c.fate != nil {
		return c.fate(c.applies)
	}
	return nil
}

// The records of a big fleet are created in batches, so that the exporter's status is
// written in between, and concurrently; a failure does not prevent the other records.
func TestRecordsInBatches(t *testing.T) {
	for name, tc := range map[string]struct {
		pods, fail int
		takes      time.Duration // duration of each apply
		want       []int         // applies of each reconciliation
	}{
		"the fleet is small":     {pods: 7, want: []int{7, 0}},
		"the fleet is one batch": {pods: 200, want: []int{200, 0}},
		"the fleet is big":       {pods: 450, want: []int{200, 200, 50, 0}},
		"the API server is slow": {pods: 350, takes: batchTime / 20, want: []int{20 * writers, 20 * writers, 350 - 40*writers, 0}},
		"some applies fail":      {pods: 450, fail: 250, want: []int{450}},
	} {
		synctest.Test(t, func(t *testing.T) {
			api := &counting{takes: tc.takes}
			if tc.fail > 0 {
				api.fate = func(n int) error {
					if n <= tc.fail {
						return fmt.Errorf("no %d", n)
					}
					return nil
				}
			}
			r := &Reconciler{Writer: records.New(apply.New(api, effects.Direct)), Clock: clock.RealClock{}}
			f := &fleet{exporter: &v1alpha1.PrometheusJmxExporter{}}
			f.exporter.Name, f.exporter.UID = "exporter", "exporter"
			for i := range tc.pods {
				pod := &corev1.Pod{}
				pod.Name, pod.UID = fmt.Sprintf("pod-%03d", i), types.UID(fmt.Sprint(i))
				f.members = append(f.members, member{pod: pod})
			}
			for i, want := range tc.want {
				before := api.applies
				p := f.decide()
				again, err := r.writeRecords(t.Context(), f, p.records)
				if (err != nil) != (tc.fail > 0) {
					t.Errorf("%s: unexpected error %v", name, err)
				}
				did := api.applies - before
				if did != want {
					t.Errorf("%s: records written by reconciliation %d: got %d, want %d", name, i, did, want)
				}
				more := 0
				for j := range f.members {
					if m := &f.members[j]; m.attachment == nil && did > 0 {
						m.attachment = &v1alpha1.JmxAttachment{Spec: v1alpha1.JmxAttachmentSpec{Exporter: v1alpha1.ObjectIdentity{UID: "exporter"}}}
						did--
					} else if m.attachment == nil {
						more++
					}
				}
				if (again > 0) != (more > 0) {
					t.Errorf("%s: %d records remain, next reconciliation in %s", name, more, again)
				}
			}
		})
	}
}
