package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noteQuota notes that an object was created, or that a quota allows no more.
func (p *proxy) noteQuota(response *http.Response) error {
	switch response.StatusCode {
	case http.StatusCreated:
		p.note(func() { p.created = append(p.created, counted(response.Request.URL.Path)) })
	case http.StatusForbidden:
		content, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		response.Body = io.NopCloser(bytes.NewReader(content))
		if bytes.Contains(content, []byte("exceeded quota")) {
			var exceeded func()
			p.note(func() { exceeded, p.exceeded = p.exceeded, nil })
			if exceeded != nil {
				go exceeded()
			}
		}
	}
	return nil
}

// counted is the name by which a quota counts the objects of a path of the API:
// count/RESOURCE.GROUP.
func counted(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group, of := "", parts[len(parts)-2]
	if parts[0] == "apis" {
		group = "." + parts[1]
	}
	return "count/" + of + group
}

// limit allows this many objects of a kind in the namespace. The status of the quota is what
// kube-controller-manager would write, which does not run; the API server counts in it what is
// created, by itself.
func (r *run) limit(kind corev1.ResourceName, most int) {
	r.t.Helper()
	hard := corev1.ResourceList{kind: *resource.NewQuantity(int64(most), resource.DecimalSI)}
	quota := &corev1.ResourceQuota{ObjectMeta: r.named("quota"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	r.must(client.IgnoreAlreadyExists(admin.Create(r.t.Context(), quota)))
	r.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := admin.Get(r.t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		quota.Spec.Hard = hard
		return admin.Update(r.t.Context(), quota)
	}))
	r.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := admin.Get(r.t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		quota.Status.Hard = hard
		if quota.Status.Used == nil {
			quota.Status.Used = corev1.ResourceList{kind: resource.Quantity{}}
		}
		return admin.Status().Update(r.t.Context(), quota)
	}))
}

// planQuotas refuses each object that is created without a fault by a quota, which is raised
// some seconds later.
func planQuotas(reference *run) (all []plan) {
	seen := map[string]int{}
	for _, kind := range reference.proxy.created {
		all = append(all, quotaReached(corev1.ResourceName(kind), seen[kind]))
		seen[kind]++
	}
	return all
}

func quotaReached(kind corev1.ResourceName, most int) plan {
	const lasts = 5 * time.Second
	return plan{
		class: "quota reached", name: fmt.Sprintf("quota of %s, %d", strings.ReplaceAll(string(kind), "/", " "), most),
		writes: quotaWrites, execs: 0,
		arm: func(r *run, _ *operatorSpec) {
			r.limit(kind, most)
			r.proxy.exceeded = func() { r.do(func() { r.over = time.After(lasts) }) }
		},
		afterwards: func(r *run) {
			r.limit(kind, 100)
			r.strikes++
		},
		met: (*run).struck,
	}
}

// quotaWrites is how many writes there may be more in the seconds of a quota: those that are
// refused, each later than the one before, and what states so.
const quotaWrites = 16
