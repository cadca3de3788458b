package configuration

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func list(item check) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) != kindList {
			return wrongKind(path, n, string(kindList))
		}
		for i, child := range resolve(n).Content {
			if err := item(c, fmt.Sprintf("%s[%d]", path, i), child); err != nil {
				return err
			}
		}
		return nil
	}
}

// orNull also accepts a key without a value, which the collector treats as absent.
func orNull(inner check) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) == kindNull {
			return nil
		}
		return inner(c, path, n)
	}
}

// ineffective accepts a key that has no effect in an agent, with a warning.
func ineffective(inner check) check {
	return func(c *checker, path string, n *yaml.Node) error {
		c.ineffective = append(c.ineffective, path)
		return inner(c, path, n)
	}
}

func forbidden(why string) check {
	return func(_ *checker, path string, n *yaml.Node) error {
		return &Error{Reason: ConfigForbidden, Line: n.Line, Message: clip(fmt.Sprintf("%s is not allowed: %s", path, why))}
	}
}

func oneOf(words ...string) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if err := text(c, path, n); err != nil {
			return err
		}
		if slices.Contains(words, resolve(n).Value) {
			return nil
		}
		return invalid(n, "%s is not one of %s", path, strings.Join(words, ", "))
	}
}

func boolean(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) != kindBoolean {
		return wrongKind(path, n, "true or false")
	}
	return nil
}

func text(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) != kindString {
		return wrongKind(path, n, string(kindString))
	}
	return nil
}

func anyValue(*checker, string, *yaml.Node) error { return nil }

func notNull(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) == kindNull {
		return wrongKind(path, n, "a value")
	}
	return nil
}

func seconds(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) != kindInteger {
		return wrongKind(path, n, string(kindInteger))
	}
	value := strings.ReplaceAll(resolve(n).Value, "_", "")
	if strings.HasPrefix(value, "-") {
		return invalid(n, "%s is less than 0", path)
	}
	// The prefix determines the base, as in Java. Numbers in base 60 are small enough.
	if _, err := strconv.ParseInt(value, 0, 32); err != nil && !strings.Contains(value, ":") {
		return invalid(n, "%s is too large", path)
	}
	return nil
}

// javaDouble matches what Double.valueOf accepts.
var javaDouble = regexp.MustCompile(`^[\x00-\x20]*[-+]?(?:NaN|Infinity|(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][-+]?\d+)[fFdD]?)[\x00-\x20]*$`)

// maxNumberLength limits the input of javaDouble, in bytes, since aliases may repeat it.
const maxNumberLength = 1024

func number(_ *checker, path string, n *yaml.Node) error {
	value := resolve(n).Value
	switch kindOf(n) {
	case kindInteger, kindFloat:
		return nil
	case kindString:
		if len(value) > maxNumberLength || !javaDouble.MatchString(value) {
			return invalid(n, "%s is not a number", path)
		}
		return nil
	default:
		return wrongKind(path, n, string(kindFloat))
	}
}

// notMapping accepts everything that the collector converts to a pattern.
func notMapping(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) == kindMapping {
		return wrongKind(path, n, string(kindString))
	}
	return nil
}
