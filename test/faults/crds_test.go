package faults

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	crdOfRecords   = "jmxattachments.banzaicloud.com"
	crdOfExporters = "prometheusjmxexporters.banzaicloud.com"
)

// removals are the CRDs that are deleted, in order.
var removals = [][]string{{crdOfRecords}, {crdOfExporters}, {crdOfRecords, crdOfExporters}, {crdOfExporters, crdOfRecords}}

// planCRDs deletes CRDs at each effect, and with them all objects of their kinds: once for good,
// and once for some seconds. Then the exporter comes back with them, as a tool of GitOps would
// install it. Which CRDs, alternates: an API server has one set of them, so that these plans run
// one after another.
func planCRDs(effects []occurrence) (all []plan) {
	for i, at := range effects {
		good, back := removed(at, removals[(i+2)%len(removals)]), removed(at, removals[i%len(removals)])
		good.class, good.afterwards = "CRDs deleted at an effect", func(*run) {}
		good.ends = func(*run, context.Context) bool { return true } // the operator is idle, and has survived
		back.class, back.afterwards = "CRDs deleted and installed again at an effect", (*run).bringBack
		all = append(all, good, back)
	}
	return all
}

func removed(at occurrence, names []string) plan {
	s := &strike{Effect: at.name, Nth: at.nth, Action: waits}
	of := strings.ReplaceAll(strings.Join(names, ", then "), ".banzaicloud.com", "")
	return plan{
		name: fmt.Sprintf("CRDs of %s deleted, %s", of, s), alone: true,
		lasts: 3 * time.Second, writes: crdWrites, execs: replacedExecs,
		arm: func(r *run, spec *operatorSpec) {
			r.installCRDs() // a try before this one may have deleted them
			r.t.Cleanup(r.installCRDs)
			spec.Strike = s
		},
		meanwhile: func(r *run) { r.deleteCRDs(names...) }, met: (*run).struck,
	}
}

// crdWrites is how many writes there may be more when CRDs come back: the pod may be detached and
// attached again.
const crdWrites = 2 * replacedWrites

// installCRDs installs the CRDs, also in place of others.
func (w *world) installCRDs() { w.installCRDsOf(installed) }

func (w *world) installCRDsOf(options envtest.CRDInstallOptions) {
	w.t.Helper()
	_, err := envtest.InstallCRDs(config, options)
	w.must(err)
}

// deleteCRDs deletes CRDs, each when the one before is gone.
func (w *world) deleteCRDs(names ...string) {
	w.t.Helper()
	w.remember()
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		w.must(admin.Delete(w.t.Context(), crd))
		w.must(wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, stepTimeout, true, func(ctx context.Context) (bool, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(crd), crd)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}))
	}
}

// bringBack installs the CRDs again, and creates the exporter unless it is gone by the scenario.
func (r *run) bringBack() {
	r.t.Helper()
	r.installCRDs()
	err := admin.Get(r.t.Context(), client.ObjectKeyFromObject(r.exporter), r.exporter)
	if r.must(client.IgnoreNotFound(err)); err != nil && len(r.ends) < len(scenario)-1 {
		r.createExporter()
	}
}
