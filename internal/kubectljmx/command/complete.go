package command

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// lister lists the names that an argument or flag takes.
type lister func(context.Context, *cluster.Cluster) ([]string, error)

// complete completes a flag.
func (t *tool) complete(list lister) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		cl, err := t.open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names, err := list(c.Context(), cl)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne completes the only argument.
func (t *tool) completeOne(list lister) cobra.CompletionFunc {
	complete := t.complete(list)
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(c, args, begun)
	}
}

func exporterNames(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	list, err := c.Exporters(ctx, c.Namespace)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list.Items {
		names = append(names, e.Name)
	}
	return names, nil
}

// recordedPods are the pods with a record.
func recordedPods(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	list, err := c.Attachments(ctx, c.Namespace)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, a := range list.Items {
		names = append(names, a.Spec.Pod.Name)
	}
	return names, nil
}

func podNames(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	list, err := c.Clientset.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	return names, nil
}

func namespaceNames(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names, nil
}

// completeFlags completes those of the kubeconfig.
func (t *tool) completeFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", t.complete(namespaceNames))
	inKubeconfig := func(names func() []string) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return names(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	_ = root.RegisterFlagCompletionFunc("context", inKubeconfig(func() []string { return t.fromKubeconfig("context") }))
	_ = root.RegisterFlagCompletionFunc("cluster", inKubeconfig(func() []string { return t.fromKubeconfig("cluster") }))
	_ = root.RegisterFlagCompletionFunc("user", inKubeconfig(func() []string { return t.fromKubeconfig("user") }))
}

func (t *tool) fromKubeconfig(what string) []string {
	config, err := t.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil
	}
	switch what {
	case "context":
		return sorted(config.Contexts)
	case "cluster":
		return sorted(config.Clusters)
	}
	return sorted(config.AuthInfos)
}

func sorted[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
