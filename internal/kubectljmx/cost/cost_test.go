package cost

import (
	"encoding/json"
	"testing"
)

// What a process in a container responds with does not keep the costs of other JVMs from
// being printed.
func TestValuesAreFinite(t *testing.T) {
	c := Cost{}
	err := c.read(`# TYPE jmx_exporter_collection_duration_seconds gauge
jmx_exporter_collection_duration_seconds 0.5
jmx_exporter_collection_cpu_seconds NaN
jmx_exporter_collection_series +Inf
jmx_exporter_collection_mbeans 0
jmx_exporter_collection_rule_cpu_seconds{rule="1"} -Inf
jmx_exporter_collection_rule_cpu_seconds{rule="2"} 0.25
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c)
	if want := `{"namespace":"","pod":"","container":"","pid":0,"durationSeconds":0.5,"mbeans":0,"rules":[{"rule":2,"cpuSeconds":0.25}]}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
