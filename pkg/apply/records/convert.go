package records

import "encoding/json"

// configuration converts an API value to its apply configuration through JSON: fields
// that the value omits are not applied, and therefore not owned.
func configuration[T any](value any) (*T, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	ac := new(T)
	return ac, json.Unmarshal(data, ac)
}
