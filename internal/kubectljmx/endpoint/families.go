package endpoint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protojson"
)

// Families are metrics for programs: each family as the JSON of Prometheus' own message
// (io.prometheus.client.MetricFamily), sorted by name.
type Families string

// MarshalJSON parses the text, which a person reads without that.
func (f Families) MarshalJSON() ([]byte, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(string(f)))
	if err != nil {
		return nil, err
	}
	all := []json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		family, err := protojson.Marshal(parsed[name])
		if err != nil {
			return nil, err
		}
		all = append(all, family)
	}
	return json.Marshal(all)
}
