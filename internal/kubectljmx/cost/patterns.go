package cost

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// AddPatterns adds the patterns of rules, as far as the user may read the ConfigMaps.
func AddPatterns(ctx context.Context, c *cluster.Cluster, costs []Cost) {
	known := map[client.ObjectKey][]string{}
	for i := range costs {
		key := client.ObjectKey{Namespace: costs[i].Namespace, Name: costs[i].exporter}
		patterns, ok := known[key]
		if !ok {
			patterns = patternsOf(ctx, c, key)
			known[key] = patterns
		}
		for j := range costs[i].Rules {
			if n := costs[i].Rules[j].Rule; n >= 1 && n <= len(patterns) {
				costs[i].Rules[j].Pattern = patterns[n-1]
			}
		}
	}
}

// patternsOf returns the patterns of an exporter's rules, in order; nil if they cannot be
// read, without which the numbers of the rules say enough.
func patternsOf(ctx context.Context, c *cluster.Cluster, key client.ObjectKey) []string {
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
	var configuration struct {
		Rules []struct {
			Pattern string `json:"pattern"`
		} `json:"rules"`
	}
	if err := yaml.Unmarshal([]byte(configMap.Data[exporter.Spec.Config.ConfigMapKey]), &configuration); err != nil {
		return nil
	}
	var patterns []string
	for _, rule := range configuration.Rules {
		patterns = append(patterns, rule.Pattern)
	}
	return patterns
}
