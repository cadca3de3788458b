package configuration

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

var (
	// localAuthority matches this host, with or without a port; without a host, RMI takes
	// this one. The agent has the same expressions (Keys).
	localAuthority = regexp.MustCompile(`^(?i)(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])?(?::[0-9]*)?$`)
	authority      = regexp.MustCompile(`//([^/]*)`)

	otherHost = forbidden("it names another host, and the agent serves only the JVM that it is loaded into. Remove the key")
)

// localHostPort demands that hostPort, if it has a value, names this host.
func localHostPort(c *checker, path string, n *yaml.Node) error {
	n = resolve(n)
	if kindOf(n) == kindNull || n.Kind == yaml.ScalarNode && localAuthority.MatchString(n.Value) {
		return nil
	}
	return otherHost(c, path, n)
}

// localURL demands that jmxUrl, if it has a value, names only this host:
// service:jmx:rmi://server/jndi/rmi://registry/jmxrmi.
func localURL(c *checker, path string, n *yaml.Node) error {
	n = resolve(n)
	if kindOf(n) == kindNull || n.Kind == yaml.ScalarNode && n.Value == "" {
		return nil
	}
	named := authority.FindAllStringSubmatch(n.Value, -1)
	for _, match := range named {
		if !localAuthority.MatchString(match[1]) {
			return otherHost(c, path, n)
		}
	}
	if len(named) == 0 {
		return otherHost(c, path, n)
	}
	return nil
}
