package metrics

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// echo answers with what it reads, and complains with four bytes.
type echo struct{}

// Stream implements transport.Streams.
func (echo) Stream(_ context.Context, _ transport.Container, _ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if _, err := io.Copy(stdout, stdin); err != nil {
		return err
	}
	_, err := io.WriteString(stderr, "oops")
	return err
}

// The bytes of exec streams are counted by their direction, and arrive.
func TestCountStreams(t *testing.T) {
	before := bytesByDirection(t)
	var out, errs strings.Builder
	if err := CountStreams(echo{}).Stream(t.Context(), transport.Container{}, nil, strings.NewReader("hello"), &out, &errs); err != nil {
		t.Fatal(err)
	}
	if out.String() != "hello" || errs.String() != "oops" {
		t.Errorf("%q and %q arrived", out.String(), errs.String())
	}
	after := bytesByDirection(t)
	for direction := range after {
		after[direction] -= before[direction]
	}
	if diff := cmp.Diff(map[string]float64{"sent": 5, "received": 9}, after); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func bytesByDirection(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(execBytes)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			counted[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return counted
}
