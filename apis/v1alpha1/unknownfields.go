package v1alpha1

import (
	"bytes"

	"sigs.k8s.io/json"
)

// UnmarshalJSON implements json.Unmarshaler. It keeps the JSON of a spec with fields that the type
// does not have, in Raw: those of a later release, whose meaning is unknown.
func (s *PrometheusJmxExporterSpec) UnmarshalJSON(data []byte) error {
	type plain PrometheusJmxExporterSpec // without this method
	unknown, err := json.UnmarshalStrict(data, (*plain)(s))
	if s.Raw = nil; len(unknown) > 0 {
		s.Raw = bytes.Clone(data)
	}
	return err
}
