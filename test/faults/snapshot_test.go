package faults

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// each calls do with all objects of some kinds in the namespace.
func (w *world) each(ctx context.Context, do func(client.Object) error, lists ...client.ObjectList) error {
	for _, list := range lists {
		if err := admin.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error { return do(o.(client.Object)) }); err != nil {
			return err
		}
	}
	return nil
}

var (
	// Times and hashes differ between runs that end the same.
	// Revisions are named by the order in which they appear, so that those that are equal
	// remain equal.
	times  = regexp.MustCompile(`"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z"?`)
	hashes = regexp.MustCompile(`\b(app-0|exporter-jmx)-[0-9a-f]{8,}\b`)
	long   = regexp.MustCompile(`\bidentity: "?[0-9a-f]+"?`)

	revisions = regexp.MustCompile(`\brevision: "?([0-9a-f]{16})"?`)
)

// unlike are the fields that may differ between runs that end the same: how often
// something was tried, what an inspection found by the way, and annotations that an operator
// restored because it saw the record of another one before the pod.
var unlike = []string{"attempt", "restores", "observedGeneration", "generation", "agentFound"}

// objects returns what is in the namespace, in a form that is the same for the same end.
func (w *world) objects(ctx context.Context) string {
	var all []string
	err := w.each(ctx, func(o client.Object) error {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return err
		}
		shown := map[string]any{"kind": strings.TrimPrefix(reflect.TypeOf(o).String(), "*"), "name": o.GetName(), "annotations": o.GetAnnotations(), "labels": o.GetLabels()}
		for _, key := range []string{"spec", "status", "endpoints", "ports"} {
			shown[key] = content[key]
		}
		if _, pod := o.(*corev1.Pod); pod { // the test wrote these
			delete(shown, "spec")
			delete(shown, "status")
		}
		var owners []string
		for _, entry := range o.GetManagedFields() {
			owners = append(owners, fmt.Sprintf("%s %s", entry.Manager, entry.Subresource))
		}
		slices.Sort(owners)
		shown["owners"] = slices.Compact(owners)
		text, err := yaml.Marshal(without(shown))
		all = append(all, string(text))
		return err
	}, &corev1.PodList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}, &v1alpha1.PrometheusJmxExporterList{}, &v1alpha1.JmxAttachmentList{})
	if err != nil {
		return err.Error()
	}
	text := w.replaced(strings.Join(append(all, w.inContainer()), "---\n"))
	known := map[string]string{}
	text = revisions.ReplaceAllStringFunc(text, func(line string) string {
		if known[line] == "" {
			known[line] = fmt.Sprintf("revision: REVISION-%d", len(known)+1)
		}
		return known[line]
	})
	return long.ReplaceAllString(hashes.ReplaceAllString(times.ReplaceAllString(text, "TIME"), "$1-HASH"), "identity: IDENTITY")
}

// inContainer returns what the operator has left in the container: agents that serve, and
// files but those whose name states their content, which may be there for later.
func (w *world) inContainer() string {
	w.mu.Lock()
	uid := w.pod.UID
	w.mu.Unlock()
	c := w.containers.Get(uid, containerName)
	if c == nil {
		return "no container\n"
	}
	files, _ := c.Files()
	files = slices.DeleteFunc(files, func(name string) bool { _, shared := helperapi.FileDigest(name); return shared })
	text := fmt.Sprintf("files: %q\n", files)
	w.containers.Locked(func() {
		for _, j := range c.JVMs {
			if j.Running() {
				text += fmt.Sprintf("JVM %d: serves port %d by %s after %d loads\n", j.PID, j.Mark.Port, j.Mark.ConfigSHA256, j.Loads)
			}
		}
	})
	return text
}

// without removes what is unlike, and what is empty, and sorts conditions, whose order is that
// in which they were first written.
func without(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			inner = without(inner)
			if list, ok := inner.([]any); ok && key == "conditions" {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(typeOf(a), typeOf(b)) })
			}
			if slices.Contains(unlike, key) || inner == nil || reflect.ValueOf(inner).Kind() == reflect.Map && reflect.ValueOf(inner).Len() == 0 {
				delete(v, key)
			}
		}
	case []any:
		for _, inner := range v {
			without(inner)
		}
	}
	return value
}

// typeOf returns the type of a condition; empty for something else.
func typeOf(condition any) string {
	fields, _ := condition.(map[string]any)
	name, _ := fields["type"].(string)
	return name
}
