package exporter

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// stated has the status of each exporter as this operator last wrote it, or is about to. Another
// status is that of an operator that has lost its Lease, and went on for a few more writes: nothing
// but an event would lead to the exporter again.
type stated struct{ digests sync.Map } // by types.NamespacedName

// note remembers a status before it is written: its event may come before the answer.
func (s *stated) note(exporter types.NamespacedName, status *v1alpha1.PrometheusJmxExporterStatus) {
	s.digests.Store(exporter, digestOf(status))
}

func (s *stated) forget(exporter types.NamespacedName) { s.digests.Delete(exporter) }

// ofForeign maps an exporter whose status changed to one that this operator did not write.
func (s *stated) ofForeign(_ context.Context, before, after **v1alpha1.PrometheusJmxExporter) []reconcile.Request {
	if before == nil || after == nil {
		return nil
	}
	exporter, now := client.ObjectKeyFromObject(*after), digestOf(&(*after).Status)
	if own, ok := s.digests.Load(exporter); ok && own == now || digestOf(&(*before).Status) == now {
		return nil
	}
	return []reconcile.Request{{NamespacedName: exporter}}
}

func digestOf(status *v1alpha1.PrometheusJmxExporterStatus) [sha256.Size]byte {
	content, err := json.Marshal(status)
	if err != nil { // what came from JSON is marshaled again
		panic(err)
	}
	return sha256.Sum256(content)
}
