package apply

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
)

// Stands reports whether an owner still owns all that it stated of an object, and nothing
// more: owned is what ExtractX of client-go says that it owns, stated what it would state.
// Whoever changes or removes a field owns it from then on, or nobody does. Values are not
// compared: admission may have changed them, such as the registry of an image, and would
// again at each apply. Those of annotations are, so that a Digest in one of them says which
// statement it was.
func Stands(owned, stated any) bool {
	have, want := shapeOf(owned), shapeOf(stated)
	return have != nil && reflect.DeepEqual(have, want)
}

// Digest identifies a statement, an apply configuration.
func Digest(stated any) string {
	sum := fnv.New64a()
	_ = json.NewEncoder(sum).Encode(stated) // it is made to be encoded
	return fmt.Sprintf("%x", sum.Sum64())
}

// shapeOf is the shape of an apply configuration, with its annotations; nil if it is none.
func shapeOf(statement any) any {
	var object struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	var value any
	data, err := json.Marshal(statement)
	if err != nil || json.Unmarshal(data, &object) != nil || json.Unmarshal(data, &value) != nil {
		return nil
	}
	return []any{object.Metadata.Annotations, shape(value)}
}

// shape is a value without its leaves: its maps, and its lists of maps.
func shape(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = shape(value[key])
		}
		return value
	case []any:
		for i := range value {
			if value[i] = shape(value[i]); value[i] == nil {
				return nil // a list of leaves has one owner
			}
		}
		return value
	}
	return nil
}
