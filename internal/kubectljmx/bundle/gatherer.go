package bundle

import (
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// Options choose what is gathered.
type Options struct {
	// Namespace is that of the exporters; empty for all.
	Namespace string
	// OperatorNamespace is that of the operator; empty to look for it in all namespaces.
	OperatorNamespace string
	// RedactNames replaces names and the values of labels.
	RedactNames bool
}

// gatherer gathers, as far as the user may read.
type gatherer struct {
	*cluster.Cluster
	Options
	bundle   *Bundle
	names    names
	users    users
	progress func(string, ...any)
}

func (g *gatherer) yaml(name, what string, value any) {
	content, err := yaml.Marshal(value)
	if err != nil {
		g.bundle.omit(name, err)
		return
	}
	g.bundle.add(name, what, content)
}
