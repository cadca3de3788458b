package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// names are what --redact-names replaces.
type names map[string]bool

func (n names) add(all ...string) {
	for _, name := range all {
		if name != "" {
			n[name] = true
		}
	}
}

func (n names) exporter(e *v1alpha1.PrometheusJmxExporter) {
	n.add(e.Namespace, e.Name, e.Spec.Config.ConfigMapName)
	requirements, _ := e.Spec.AsSelector().Requirements()
	for _, r := range requirements {
		n.add(r.ValuesUnsorted()...)
	}
	if e.Spec.EndpointSecurity != nil {
		n.add(e.Spec.EndpointSecurity.SecretName)
	}
	n.labels(e)
	for _, p := range e.Status.ProblemPods {
		n.add(p.Pod, p.Container)
	}
}

func (n names) record(a *v1alpha1.JmxAttachment) {
	n.add(a.Namespace, a.Name, a.Spec.Pod.Name, a.Spec.Exporter.Name, a.Status.NodeName)
	n.labels(a)
	for _, c := range a.Status.Containers {
		n.add(c.Name)
	}
	for _, p := range a.Status.Processes {
		n.add(p.Container, p.MainClass)
		if p.Endpoint != nil {
			n.add(p.Endpoint.Address)
		}
		if p.Notices != nil && p.Notices.Incomplete != nil {
			n.add(p.Notices.Incomplete.Domain)
		}
		if p.Notices != nil && p.Notices.Expensive != nil {
			n.add(p.Notices.Expensive.IncludeObjectNames...)
		}
	}
}

func (n names) labels(object metav1.Object) {
	for key, value := range object.GetLabels() {
		if key != v1alpha1.LabelManagedBy { // the operator's own name
			n.add(value)
		}
	}
}

// distinctive is the length from which a name is replaced within words, too: the name of a
// workload is part of those of its pods. A shorter one is in too many other words.
const distinctive = 6

// word matches what may be a name.
const word = `[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*`

// redact replaces the names in all files, each by the same word everywhere. The words are
// numbers, because a digest could be compared with that of a guess.
func (n names) redact(b *Bundle) {
	alias, within := map[string]string{}, []string{}
	for i, name := range slices.Sorted(maps.Keys(n)) {
		alias[name] = fmt.Sprintf("name-%d", i+1)
		if len(name) >= distinctive {
			within = append(within, name)
		}
	}
	// The longest first, because a pod's name has its workload's in it.
	slices.SortFunc(within, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var pairs []string
	for _, name := range within {
		pairs = append(pairs, name, alias[name])
	}
	long := strings.NewReplacer(pairs...)
	b.rewrite(long.Replace, long.Replace)
	b.replace(word, func(w string) string { return cmp.Or(alias[w], w) })
}
