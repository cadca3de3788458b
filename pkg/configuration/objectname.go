package configuration

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// objectName demands a string that javax.management.ObjectName accepts, a pattern or not.
func objectName(c *checker, path string, n *yaml.Node) error {
	if err := text(c, path, n); err != nil {
		return err
	}
	if problem := objectNameProblem(resolve(n).Value); problem != "" {
		return invalid(n, "%s is not an object name (domain:key=value,…): %s", path, problem)
	}
	return nil
}

// IsObjectName reports whether javax.management.ObjectName accepts a string, a pattern or
// not. The empty string is none.
func IsObjectName(name string) bool { return name != "" && objectNameProblem(name) == "" }

// objectNameProblem returns why a string is not an object name, or "" if it is one. The
// empty string is one: it stands for all names.
func objectNameProblem(name string) string {
	if name == "" {
		return ""
	}
	domain, properties, found := strings.Cut(name, ":")
	switch {
	case !found:
		return "it has no colon after a domain"
	case strings.Contains(domain, "\n"):
		return "its domain has a line break"
	case properties == "":
		return "it has no properties after the colon"
	}
	keys, anyProperty := map[string]bool{}, false
	for properties != "" {
		if rest, found := strings.CutPrefix(properties, "*"); found {
			if anyProperty {
				return "it has * twice among its properties"
			}
			if rest != "" && rest[0] != ',' {
				return "a property that begins with * must be * alone"
			}
			// A comma may end the name here, and only here.
			anyProperty, properties = true, strings.TrimPrefix(rest, ",")
			continue
		}
		key, value, found := strings.Cut(properties, "=")
		switch {
		case !found:
			return "a property has no ="
		case key == "":
			return "a property has no key"
		case strings.ContainsAny(key, "*?,:\n"):
			return "a key has a character of *?,: or a line break"
		case keys[key]:
			return "a key is repeated"
		}
		keys[key] = true
		length, problem := valueLength(value)
		if problem != "" {
			return problem
		}
		// Java takes any character for the comma after a quoted value.
		switch properties = value[length:]; len(properties) {
		case 0:
		case 1:
			return "something follows its last property"
		default:
			properties = properties[1:]
		}
	}
	return ""
}

// valueLength returns the length of the value of a property at the beginning of rest.
func valueLength(rest string) (length int, problem string) {
	if strings.HasPrefix(rest, `"`) {
		return quotedLength(rest)
	}
	value, _, _ := strings.Cut(rest, ",")
	if strings.ContainsAny(value, "=:\"\n") {
		return 0, "a value has a character of =:\" or a line break and is not quoted"
	}
	return len(value), ""
}

// quotedLength returns the length of a quoted value with its quotation marks.
func quotedLength(rest string) (length int, problem string) {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			return i + 1, ""
		case '\n':
			return 0, "a quoted value has a line break"
		case '\\':
			if i++; i == len(rest) || !strings.ContainsRune(`\"?*n`, rune(rest[i])) {
				return 0, "a quoted value has a backslash that is not followed by one of \\\"?*n"
			}
		}
	}
	return 0, "a quoted value does not end"
}
