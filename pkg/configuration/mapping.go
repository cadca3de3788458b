package configuration

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// constraint checks how the keys of a mapping depend on each other. It returns "" if they
// are valid.
type constraint func(has map[string]bool) (problem string)

// required demands at least one of the keys, with a value.
func required(names ...string) constraint {
	return func(has map[string]bool) string {
		if slices.ContainsFunc(names, func(name string) bool { return has[name] }) {
			return ""
		}
		return strings.Join(names, " or ") + " is missing"
	}
}

// needs demands the key other if the mapping has the key name.
func needs(name, other string) constraint {
	return func(has map[string]bool) string {
		if !has[name] || has[other] {
			return ""
		}
		return fmt.Sprintf("%s has no effect without %s", name, other)
	}
}

// mapping demands a mapping with these keys. Unknown keys are invalid, except that
// top-level ones are ignored, as the collector does.
func mapping(known keys, constraints ...constraint) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) != kindMapping {
			return wrongKind(path, n, string(kindMapping))
		}
		has := map[string]bool{}
		for _, e := range c.entries(n) {
			name := resolve(e.key).Value
			check, found := known[name]
			switch {
			case found && kindOf(e.key) == kindString:
			case path != "":
				return unknownKey(path, e.key, known)
			default:
				c.unknown = append(c.unknown, e.key)
				continue
			}
			if err := check(c, join(path, name), e.value); err != nil {
				return err
			}
			// The collector turns a pattern without a value into the string "null".
			has[name] = kindOf(e.value) != kindNull || name == "pattern"
		}
		for _, constraint := range constraints {
			if problem := constraint(has); problem != "" {
				return invalid(n, "%s: %s", path, problem)
			}
		}
		return nil
	}
}

// anyKey demands a mapping with arbitrary keys, and checks each key and value.
func anyKey(key, value check) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) != kindMapping {
			return wrongKind(path, n, string(kindMapping))
		}
		for _, e := range c.entries(n) {
			if err := key(c, "a key of "+path, e.key); err != nil {
				return err
			}
			if err := value(c, "a value of "+path, e.value); err != nil {
				return err
			}
		}
		return nil
	}
}
