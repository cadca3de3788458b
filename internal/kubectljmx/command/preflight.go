package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/preflight"
)

func (t *tool) preflight() *cobra.Command {
	var selector string
	var spec *v1alpha1.PrometheusJmxExporterSpec
	var keep bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "preflight (EXPORTER | -l SELECTOR)",
		Short: "Show which pods could be attached to, before anything is loaded",
		Long: `Show which pods could be attached to, and why others could not, before anything is
loaded. With a selector, it creates a temporary exporter in mode Preflight, waits until
the operator has inspected every selected pod, and deletes it again. With
the name of an exporter in mode Preflight, it shows what that one has found.

A preflight loads nothing, signals no JVM, and leaves nothing in a container.`,
		Example: `  kubectl jmx preflight -l app=payroll
  kubectl jmx preflight -l 'app in (payroll,ledger),!jmx-exporter'
  kubectl jmx preflight -l app=payroll --keep   # the exporter stays, for a look at each pod
  kubectl jmx preflight example-preflight`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: t.completeOne(exporterNames),
	}
	c.Flags().StringVarP(&selector, "selector", "l", "", "select pods by label, as kubectl get does: app=a, app!=a, app in (a,b), app, !app")
	c.Flags().BoolVar(&keep, "keep", false, "keep the exporter; kubectl delete pjmx removes it")
	c.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long to wait for the operator")
	judge := func(args []string) (err error) {
		if (len(args) == 0) == (selector == "") {
			return errors.New("name an exporter in mode Preflight, or select pods with -l app=NAME")
		}
		spec, err = selected(selector)
		return err
	}
	return t.shows(c, &output.Format{Names: true}, judged(judge, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, args []string) (*output.View, error) {
		find := func() (*preflight.Report, error) { return t.inspect(ctx, cl, spec, keep, timeout) }
		if selector == "" {
			find = func() (*preflight.Report, error) { return found(ctx, cl, args[0]) }
		}
		report, err := find()
		if err != nil {
			return nil, err
		}
		view := &output.View{Value: report, Text: func(w io.Writer) { preflight.Print(w, report) }}
		if selector == "" || keep { // the exporter is there
			view.Objects = []string{typed(exporterKind, report.Exporter)}
		}
		return view, nil
	})))
}

// operators are those of kubectl's selectors that the API has.
var operators = map[selection.Operator]metav1.LabelSelectorOperator{
	selection.Equals:       metav1.LabelSelectorOpIn,
	selection.DoubleEquals: metav1.LabelSelectorOpIn,
	selection.In:           metav1.LabelSelectorOpIn,
	selection.NotEquals:    metav1.LabelSelectorOpNotIn,
	selection.NotIn:        metav1.LabelSelectorOpNotIn,
	selection.Exists:       metav1.LabelSelectorOpExists,
	selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
}

// selected returns a spec that selects the pods of -l, which has the syntax of kubectl's.
func selected(selector string) (*v1alpha1.PrometheusJmxExporterSpec, error) {
	requirements, err := labels.ParseToRequirements(selector)
	if err != nil {
		return nil, fmt.Errorf("-l %s: %w", selector, err)
	}
	equal, all := map[string]v1alpha1.LabelValue{}, &v1alpha1.PodSelector{}
	for _, r := range requirements {
		operator, ok := operators[r.Operator()]
		if !ok {
			return nil, fmt.Errorf("-l %s: an exporter's selector has no operator %s", selector, r.Operator())
		}
		requirement := v1alpha1.LabelRequirement{Key: r.Key(), Operator: operator}
		for _, value := range r.Values().List() {
			requirement.Values = append(requirement.Values, v1alpha1.LabelValue(value))
		}
		if r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals {
			equal[r.Key()] = requirement.Values[0]
		}
		all.MatchExpressions = append(all.MatchExpressions, requirement)
	}
	if len(equal) == len(requirements) { // labelSelector says it all, which CustomResourceDefinitions of each release have
		return &v1alpha1.PrometheusJmxExporterSpec{LabelSelector: equal}, nil
	}
	return &v1alpha1.PrometheusJmxExporterSpec{Selector: all}, nil
}

func (t *tool) inspect(ctx context.Context, cl *cluster.Cluster, spec *v1alpha1.PrometheusJmxExporterSpec, keep bool, timeout time.Duration) (*preflight.Report, error) {
	progress := output.NewProgress(t.ErrOut)
	defer progress.Done()
	return preflight.Run(ctx, cl, spec, keep, timeout, progress.Say)
}

func found(ctx context.Context, cl *cluster.Cluster, name string) (*preflight.Report, error) {
	exporter, err := cl.Exporter(ctx, name)
	if err != nil {
		return nil, err
	}
	if exporter.Spec.Mode != v1alpha1.ModePreflight {
		return nil, fmt.Errorf("exporter %s attaches to its pods (spec.mode is not Preflight); kubectl jmx status -n %s %s shows how far they are", name, cl.Namespace, name)
	}
	if report := preflight.Of(exporter); report != nil {
		return report, nil
	}
	return nil, fmt.Errorf("no operator has processed exporter %s yet; kubectl jmx status -n %s %s", name, cl.Namespace, name)
}
