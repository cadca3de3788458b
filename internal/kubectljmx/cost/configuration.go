package cost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// configuration is what the costs of rules are explained by.
type configuration struct {
	Rules []struct {
		Pattern string  `json:"pattern"`
		Name    *string `json:"name"`
	} `json:"rules"`
	Lowercase bool `json:"lowercaseOutputName"`

	sha256 string
}

// metrics returns what the names of the metrics of each rule match.
func (c *configuration) metrics() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, rule := range c.Rules {
		name := unnamed(rule.Pattern)
		if rule.Name != nil {
			name = *rule.Name
		}
		all = append(all, metricsOf(name, c.Lowercase))
	}
	return all
}

// AddRules adds the patterns of rules and the series that they make, as far as the user may
// read the ConfigMaps, and for JVMs that serve what these have now.
func AddRules(ctx context.Context, c *cluster.Cluster, costs []Cost) {
	known := map[client.ObjectKey]*configuration{}
	for i := range costs {
		key := client.ObjectKey{Namespace: costs[i].Namespace, Name: costs[i].exporter}
		found, ok := known[key]
		if !ok {
			found = configurationOf(ctx, c, key)
			known[key] = found
		}
		if found != nil && (costs[i].configSHA256 == "" || costs[i].configSHA256 == found.sha256) {
			costs[i].explain(found)
		}
	}
}

func (c *Cost) explain(by *configuration) {
	var series []Bounds
	if c.names != nil && c.Series != nil {
		series = bounds(c.names, int(*c.Series), by.metrics())
	}
	for i := range c.Rules {
		rule := &c.Rules[i]
		if rule.Rule < 1 || rule.Rule > len(by.Rules) {
			continue
		}
		rule.Pattern = by.Rules[rule.Rule-1].Pattern
		if series != nil {
			rule.Series = &series[rule.Rule-1]
		}
	}
}

// configurationOf returns the configuration of an exporter; nil if it cannot be read,
// without which the numbers of the rules say enough.
func configurationOf(ctx context.Context, c *cluster.Cluster, key client.ObjectKey) *configuration {
	in := *c
	in.Namespace = key.Namespace
	exporter, err := in.Exporter(ctx, key.Name)
	if err != nil {
		return nil
	}
	configMap := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: exporter.Spec.Config.ConfigMapName}, configMap); err != nil {
		return nil
	}
	content := []byte(configMap.Data[exporter.Spec.Config.ConfigMapKey])
	sum := sha256.Sum256(content)
	found := &configuration{sha256: hex.EncodeToString(sum[:])}
	if err := yaml.Unmarshal(content, found); err != nil {
		return nil
	}
	return found
}
