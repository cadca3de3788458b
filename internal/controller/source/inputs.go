package source

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Get returns the inputs of the exporter. If they are invalid, the Inputs have a
// Problem; the error is that of a failed read.
func (s *Source) Get(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (steps.Inputs, error) {
	config, err := s.exceeding(ctx, exporter)
	if config.Problem == nil && err == nil {
		config, err = s.config(ctx, exporter)
	}
	if err != nil {
		return steps.Inputs{}, err
	}
	security, err := s.security(ctx, exporter)
	return steps.Inputs{Config: config, Security: security, ProcessRules: s.processRules(exporter)}, err
}

// exceeding returns a problem if the namespace has as many exporters as it may have, and all of
// them are older.
func (s *Source) exceeding(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (steps.Input, error) {
	if s.MaxExporters == 0 {
		return steps.Input{}, nil
	}
	var all v1alpha1.PrometheusJmxExporterList
	if err := s.cache.List(ctx, &all, client.InNamespace(exporter.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return steps.Input{}, err
	}
	if len(all.Items) <= s.MaxExporters || selection.CountOlder(all.Items, exporter) < s.MaxExporters {
		return steps.Input{}, nil
	}
	s.configs.forget(client.ObjectKeyFromObject(exporter))
	return problem(v1alpha1.ReasonTooManyExporters, fmt.Sprintf(
		"Namespace %s has more than %d exporters (--max-exporters-per-namespace), and this one (metadata.creationTimestamp) is not among the %[2]d oldest. Delete exporters that are not needed, select more pods with each, or raise the flag.",
		exporter.Namespace, s.MaxExporters)), nil
}

// RevisionInputs are what an exporter had at a revision.
type RevisionInputs struct {
	steps.Inputs
	// Exporter has the process rules that it had then, if its own cannot be used.
	Exporter *v1alpha1.PrometheusJmxExporter
}

// Kept returns what the exporter had at a revision, with the configuration that was kept of
// it, and the process rules, if its own cannot be used; nil if none is, or if exporter, Secret
// or operator ask for anything else than at that revision: a pod gets exactly what was rolled
// out to it, or nothing. This comparison also proves the content, which somebody else may have
// written. The error is that of a failed read, which is repeated after RetryKept.
func (s *Source) Kept(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, security steps.Security, revision string, artifacts *steps.Artifacts) (*RevisionInputs, error) {
	if revision == "" || security.Problem != nil {
		return nil, nil
	}
	kept := s.revisions.kept(ctx, revisionKey{client.ObjectKeyFromObject(exporter), selection.RevisionName(exporter, revision)})
	if kept.config == nil || kept.err != nil {
		return nil, kept.err
	}
	if s.processRules(exporter) != nil {
		then := *exporter
		then.Spec.Processes = kept.processes
		exporter = &then
	}
	inputs := steps.Inputs{Config: steps.Input{Blob: *kept.config}, Security: security}
	if steps.Revision(exporter, inputs, artifacts) != revision {
		return nil, nil
	}
	return &RevisionInputs{inputs, exporter}, nil
}

// checkedRules is what the rules of an exporter were found to be.
type checkedRules struct {
	uid        types.UID
	generation int64
	problem    *steps.Problem
}

// processRules returns why the exporter's own rules cannot be used; nil if they can. Parsing
// them may take many milliseconds, so it is done once for all pods of the exporter.
func (s *Source) processRules(exporter *v1alpha1.PrometheusJmxExporter) *steps.Problem {
	if len(exporter.Spec.Processes) == 0 {
		return nil
	}
	name := client.ObjectKeyFromObject(exporter)
	if known, ok := s.rules.Load(name); ok {
		if known := known.(checkedRules); known.uid == exporter.UID && known.generation == exporter.Generation {
			return known.problem
		}
	}
	problem := steps.ProcessRulesProblem(exporter)
	s.rules.Store(name, checkedRules{exporter.UID, exporter.Generation, problem})
	return problem
}
