package configuration

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func wrongKind(path string, n *yaml.Node, want string) *Error {
	if path == "" {
		path = "the configuration"
	}
	got := kindOf(n)
	hint := ""
	if want == string(kindString) && resolve(n).Kind == yaml.ScalarNode && got != kindNull {
		hint = "; put it in quotes"
	}
	return invalid(n, "%s must be %s and is %s%s", path, want, got, hint)
}

// unknownKey does not repeat the key, which may be a secret: readers of the message may
// not be allowed to read the ConfigMap.
func unknownKey(path string, key *yaml.Node, known keys) *Error {
	where := ""
	if path != "" {
		where = " in " + path
	}
	suggestion := suggest(key, known)
	if suggestion != "" {
		suggestion = "; " + suggestion
	}
	shape := ""
	if kind := resolve(key).Kind; kind != yaml.ScalarNode {
		shape = " that is " + string(kindOf(key))
	}
	return invalid(key, "unknown key%s%s%s", shape, where, suggestion)
}

// suggest returns a question with the known key that is most similar to a mistyped one. It
// is empty if none is similar.
func suggest(key *yaml.Node, known keys) string {
	near := nearest(resolve(key).Value, slices.Sorted(maps.Keys(known)))
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", near)
}
