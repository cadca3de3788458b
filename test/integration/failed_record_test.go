package integration

import (
	"errors"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// A record that cannot be written delays no other pod: the canary is checked when it is
// proven, not when the failed write is tried again.
func TestFailedRecordKeepsTimers(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, nil)
	f.o.settle()
	refused := f.run(aPod("refused"))
	f.o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if effect.What == string(records.OwnerAttachment) && effect.On == f.namespace+"/"+selection.AttachmentName(refused) {
			return errors.New("a webhook does not answer")
		}
		return do()
	}
	again, err := f.o.round()
	if err == nil {
		t.Fatal("the record was written")
	}
	if again == 0 || again > 5*time.Second {
		t.Errorf("the exporter is reconciled again after %s, want when its canary is proven", again)
	}
}
