package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// viewer does what a command does, and returns what it shows; nil if it has shown it
// already. The command fails with the error, also if there is something to show.
type viewer func(ctx context.Context, args []string) (*output.View, error)

// inCluster returns a viewer that looks into the cluster of the flags.
func (t *tool) inCluster(view func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error)) viewer {
	return func(ctx context.Context, args []string) (*output.View, error) {
		cl, err := t.open()
		if err != nil {
			return nil, err
		}
		return view(ctx, cl, args)
	}
}

// judged returns a viewer that judges the arguments first, before a cluster or kubeconfig is in the way.
func judged(judge func(args []string) error, view viewer) viewer {
	return func(ctx context.Context, args []string) (*output.View, error) {
		if err := judge(args); err != nil {
			return nil, err
		}
		return view(ctx, args)
	}
}

// shows has a command show a view in the format of its flag -o.
func (t *tool) shows(c *cobra.Command, format *output.Format, view viewer) *cobra.Command {
	format.AddFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := format.Validate(); err != nil {
			return err
		}
		shown, err := view(c.Context(), args)
		if shown == nil {
			return err
		}
		return errors.Join(format.Print(t.Out, *shown), err)
	}
	return c
}

var (
	exporterKind = v1alpha1.GroupVersion.WithKind("PrometheusJmxExporter").GroupKind()
	podKind      = schema.GroupKind{Kind: "Pod"}
)

// typed names an object as kubectl does with -o name.
func typed(kind schema.GroupKind, name string) string {
	return strings.ToLower(kind.String()) + "/" + name
}

// changed is the view of an object that a command has changed: what it has done, or the
// object as it is now, or was when it was deleted.
func changed(cl *cluster.Cluster, object client.Object, done string) (*output.View, error) {
	kind, err := cl.GroupVersionKindFor(object)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	object.SetManagedFields(nil) // as kubectl does
	return &output.View{
		Value: object, Objects: []string{typed(kind.GroupKind(), object.GetName())},
		Text: func(w io.Writer) { fmt.Fprintln(w, terminal.Line(done)) },
	}, nil
}
