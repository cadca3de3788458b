package records

import "encoding/json"

// configuration turns an API value into its apply configuration, which has the
// same JSON: fields that the value omits are not stated, hence not owned.
func configuration[T any](value any) (*T, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	ac := new(T)
	return ac, json.Unmarshal(data, ac)
}
