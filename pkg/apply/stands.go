package apply

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
)

// Stands reports whether an owner still owns all that it stated of an object, and nothing
// more: owned is what ExtractX of client-go says that it owns, stated what it stated. Whoever
// changes or removes a field owns it from then on, or nobody does. Values are not compared:
// admission may have changed them, such as the registry of an image, and would again at each
// apply. Which statement it was, a Digest in an annotation says.
func Stands(owned, stated any) bool {
	have, err := shapeOf(owned)
	if err != nil {
		return false
	}
	want, err := shapeOf(stated)
	return err == nil && reflect.DeepEqual(have, want)
}

// Digest identifies a statement, an apply configuration.
func Digest(stated any) string {
	sum := fnv.New64a()
	_ = json.NewEncoder(sum).Encode(stated) // it is made to be encoded
	return fmt.Sprintf("%x", sum.Sum64())
}

func shapeOf(statement any) (any, error) {
	data, err := json.Marshal(statement)
	if err != nil {
		return nil, err
	}
	var value any
	err = json.Unmarshal(data, &value)
	return shape(value), err
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
