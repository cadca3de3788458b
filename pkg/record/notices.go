package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Notice records the notices of the agent in a process, and reports whether that changed
// the record. Anything in the container may have said them, so they are bounded here. The
// health page of a secured endpoint omits names; the recorded ones are kept.
func Notice(p *v1alpha1.JavaProcess, said helperapi.Notices) (changed bool) {
	now := &v1alpha1.ScrapeNotices{Incomplete: incomplete(said.Skipped), Expensive: expensive(said.Expensive)}
	if before := p.Notices; before != nil && Secured(p) {
		if a, b := now.Incomplete, before.Incomplete; a != nil && b != nil && a.Reason == b.Reason {
			a.Domain = cmp.Or(a.Domain, b.Domain)
		}
		if a, b := now.Expensive, before.Expensive; a != nil && b != nil && a.Reason == b.Reason && a.Rule == b.Rule && len(a.IncludeObjectNames) == 0 {
			a.IncludeObjectNames = b.IncludeObjectNames
		}
	}
	if *now == (v1alpha1.ScrapeNotices{}) {
		now = nil
	}
	changed = !equality.Semantic.DeepEqual(now, p.Notices)
	p.Notices = now
	return changed
}

func incomplete(skipped *helperapi.Skipped) *v1alpha1.IncompleteScrape {
	if skipped == nil {
		return nil
	}
	reason := skipped.Reason
	if _, known := incompleteSentences[reason]; !known {
		reason = v1alpha1.ReasonMBeansSkipped
	}
	return &v1alpha1.IncompleteScrape{Reason: reason, Domain: text.Cut(terminal.Line(skipped.Domain), 256)}
}

func expensive(e *helperapi.Expensive) *v1alpha1.ExpensiveScrape {
	if e == nil {
		return nil
	}
	reason := e.Reason
	if _, known := expensiveSentences[reason]; !known {
		reason = v1alpha1.ReasonHighCost
	}
	recorded := &v1alpha1.ExpensiveScrape{Reason: reason, Rule: max(e.Rule, 0)}
	if pasteable(e.Include) {
		recorded.IncludeObjectNames = e.Include
	}
	return recorded
}

// pasteable reports whether a person may paste all of these patterns into a configuration;
// a part of them would leave out MBeans that yield series.
func pasteable(patterns []string) bool {
	const maxPatterns, maxBytes = 10, 1024
	return len(patterns) <= maxPatterns && len(strings.Join(patterns, " ")) <= maxBytes &&
		!slices.ContainsFunc(patterns, func(name string) bool { return !configuration.IsObjectName(name) || terminal.Line(name) != name })
}

// incompleteSentences say what is missing for a reason, and what to do.
var incompleteSentences = map[string]string{
	v1alpha1.ReasonMBeanUnreadable:     "MBeans throw when they are read. Report that to their authors, or exclude them (excludeObjectNames).",
	v1alpha1.ReasonUndeclaredAttribute: "MBeans return attributes that they do not declare. Report that to their authors.",
	v1alpha1.ReasonInvalidSample:       "samples cannot be made: labels have the same name, a rule names a group that its pattern does not have, or a value throws. Correct the rule.",
	v1alpha1.ReasonInvalidValue:        "counters are negative. Set type: GAUGE in their rule.",
	v1alpha1.ReasonDuplicateSample:     "samples have the name and labels of others. Add a label to the rule.",
	v1alpha1.ReasonConflictingType:     "metrics have the name of others with another type. Rename one of them.",
	v1alpha1.ReasonReservedName:        "a rule gives metrics the name of one of the agent's own. Rename them.",
	v1alpha1.ReasonMetricUnreadable:    "metrics of the JVM cannot be read. Report that as a bug of the operator.",
	v1alpha1.ReasonMBeansSkipped:       "MBeans, attributes or samples are left out. The metric jmx_exporter_skipped says why.",
}

// expensiveSentences say what a collection takes too much of.
var expensiveSentences = map[string]string{
	v1alpha1.ReasonCPU:        "A collection takes much CPU time.",
	v1alpha1.ReasonDuration:   "A collection takes long.",
	v1alpha1.ReasonAllocation: "A collection allocates much of the heap.",
	v1alpha1.ReasonHighCost:   "A collection is expensive.",
}

// maxNotices limits a message about all processes of a pod, in bytes.
const maxNotices = 8192

// NoticeConditions are the types of the conditions that Notices returns.
var NoticeConditions = []string{v1alpha1.ConditionScrapeIncomplete, v1alpha1.ConditionScrapeExpensive}

// Notices returns the conditions that are True because of what the agents report about
// their collections. None keeps a phase from holding.
func (r Record) Notices() []metav1.Condition {
	var conditions []metav1.Condition
	add := func(kind string, p *v1alpha1.JavaProcess, reason, message string) {
		message = r.named(p, message)
		for i := range conditions {
			if c := &conditions[i]; c.Type == kind {
				c.Message += " " + message
				return
			}
		}
		conditions = append(conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message})
	}
	for _, p := range r.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded && p.Notices != nil }) {
		if i := p.Notices.Incomplete; i != nil {
			add(v1alpha1.ConditionScrapeIncomplete, p, i.Reason, incompleteMessage(i))
		}
		if e := p.Notices.Expensive; e != nil {
			add(v1alpha1.ConditionScrapeExpensive, p, e.Reason, expensiveMessage(e))
		}
	}
	for i := range conditions {
		conditions[i].Message = text.Cut(conditions[i].Message, maxNotices)
	}
	return conditions
}

func incompleteMessage(i *v1alpha1.IncompleteScrape) string {
	where := ""
	if i.Domain != "" {
		where = fmt.Sprintf(", most of all in domain %q", i.Domain)
	}
	return fmt.Sprintf("The scrape is incomplete%s: %s", where, cmp.Or(incompleteSentences[i.Reason], incompleteSentences[v1alpha1.ReasonMBeansSkipped]))
}

func expensiveMessage(e *v1alpha1.ExpensiveScrape) string {
	sentences := []string{cmp.Or(expensiveSentences[e.Reason], expensiveSentences[v1alpha1.ReasonHighCost])}
	if e.Rule > 0 {
		sentences = append(sentences, fmt.Sprintf("Rule %d of the configuration costs most.", e.Rule))
	}
	if len(e.IncludeObjectNames) > 0 {
		sentences = append(sentences, "To read only MBeans that yield series, set in the configuration: includeObjectNames: "+yamlList(e.IncludeObjectNames))
	}
	return strings.Join(sentences, " ")
}

// yamlList returns a list on one line. JSON is YAML, and quotes whatever is in it.
func yamlList(values []string) string {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(values) // strings can be encoded
	return strings.TrimSpace(line.String())
}
