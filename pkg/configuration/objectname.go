package configuration

import (
	"errors"
	"strings"
)

// checkObjectName returns what is wrong with the name or pattern of an MBean,
// by the rules of javax.management.ObjectName.
func checkObjectName(name string) error {
	if name == "" {
		return nil // the same as *:*
	}
	domain, rest, found := strings.Cut(name, ":")
	switch {
	case !found:
		return errors.New("no colon separates its domain from its properties")
	case strings.Contains(domain, "\n"):
		return errors.New("its domain has a line break")
	case rest == "":
		return errors.New("it has no properties")
	}
	keys, wildcard := map[string]bool{}, false
	for rest != "" {
		if after, found := strings.CutPrefix(rest, "*"); found {
			if wildcard {
				return errors.New("its list of properties has more than one *")
			}
			wildcard = true
			if after != "" && after[0] != ',' {
				return errors.New("a * that stands for properties is not followed by a comma")
			}
			rest = strings.TrimPrefix(after, ",")
			continue
		}
		key, value, found := strings.Cut(rest, "=")
		switch {
		case strings.ContainsAny(key, "*?,:\n"):
			return errors.New("a property's key has one of * ? , : or a line break")
		case !found:
			return errors.New("a property has no =")
		case key == "":
			return errors.New("a property has no key")
		case keys[key]:
			return errors.New("a property occurs twice")
		}
		keys[key] = true
		after, err := skipValue(value)
		if err != nil {
			return err
		}
		if len([]rune(after)) == 1 {
			return errors.New("it does not end with a property")
		}
		// Java takes any character after a quoted value for the comma.
		for i := range after {
			if i > 0 {
				after = after[i:]
				break
			}
		}
		rest = after
	}
	return nil
}

// skipValue returns what follows a property's value.
func skipValue(s string) (rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		value, _, _ := strings.Cut(s, ",")
		if strings.ContainsAny(value, "=:\"\n") {
			return "", errors.New("a property's value has one of = : \" or a line break, and is not quoted")
		}
		return s[len(value):], nil
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return s[i+1:], nil
		case '\n':
			return "", errors.New("a quoted value has a line break")
		case '\\':
			if i++; i == len(s) || !strings.ContainsRune(`\"?*n`, rune(s[i])) {
				return "", errors.New("a quoted value has a backslash before another character than \\ \" ? * n")
			}
		}
	}
	return "", errors.New("a quoted value is not closed")
}
