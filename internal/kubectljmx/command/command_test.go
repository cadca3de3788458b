package command

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
)

// What each command prints can be read by a program, as of kubectl.
func TestEachCommandHasOutput(t *testing.T) {
	for _, c := range New(genericiooptions.NewTestIOStreamsDiscard(), clock.RealClock{}).Commands() {
		if c.Flags().Lookup("output") == nil {
			t.Errorf("kubectl jmx %s has no -o", c.Name())
		}
	}
}
