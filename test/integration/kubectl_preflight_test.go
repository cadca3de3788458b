package integration

import (
	"context"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The report of an exporter in mode Preflight.
func TestKubectlPreflight(t *testing.T) {
	t.Parallel()
	f := mixed(t)
	f.o.settle()
	k := aKubectl(t, "inspector", f.namespace, changer()...)
	compare(t, "preflight", strings.ReplaceAll(k.transcript("preflight", "-n", f.namespace, "exporter"), f.namespace, "shop"))
	if got := k.must("preflight", "-n", f.namespace, "exporter", "-o", "yaml"); !strings.Contains(got, "attachable: 3/6") && !strings.Contains(got, "attachable: 2/6") {
		t.Errorf("-o yaml: got\n%s", got)
	}
	if got, want := k.must("preflight", "-n", f.namespace, "exporter", "-o", "name"), "prometheusjmxexporter.banzaicloud.com/exporter\n"; got != want {
		t.Errorf("-o name: got %q, want %q", got, want)
	}
	f.mode(f.exporter, v1alpha1.ModeAttach)
	k.fails([]string{"preflight", "-n", f.namespace, "exporter"}, "spec.mode is not Preflight")
	k.fails([]string{"preflight", "-n", f.namespace}, "select pods with -l")
}

// A preflight of selected pods creates an exporter, waits for the operator, and deletes it.
func TestKubectlPreflightOfLabels(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	c.run(aPod("app-0"))
	excluded := aPod("app-1")
	excluded.pod.Labels["jmx-exporter"] = "disabled"
	c.run(excluded)
	c.configure(rules)
	k := aKubectl(t, "labels", c.namespace, changer()...)
	for _, selector := range []string{"app in (dummyapp,other),!jmx-exporter", "app=dummyapp,!jmx-exporter"} {
		printed := make(chan string)
		go func() {
			defer close(printed)
			printed <- k.must("preflight", "-n", c.namespace, "-l", selector)
		}()
		eventually(t, func() bool { return len(c.exporters()) == 1 })
		o.settle()
		got := <-printed
		for _, want := range []string{"Attachable:", "1/1 pods", "Exec 1"} {
			if !strings.Contains(got, want) {
				t.Errorf("-l %s: got\n%s\nwithout %q", selector, got, want)
			}
		}
		if left := c.exporters(); len(left) > 0 {
			t.Errorf("-l %s: exporter %s stays", selector, left[0].Name)
		}
	}
}

// A preflight of labels that no running pod has says so, instead of waiting for one.
func TestKubectlPreflightOfNoPods(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	k := aKubectl(t, "no-pods", c.namespace, changer()...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.fails([]string{"preflight", "-n", c.namespace, "-l", "app=none", "--timeout", "20s"}, "no running pod in namespace "+c.namespace+" matches app=none", "--show-labels")
	}()
	eventually(t, func() bool { return len(c.exporters()) == 1 })
	o.settle()
	<-ended
	if left := c.exporters(); len(left) > 0 {
		t.Errorf("exporter %s stays", left[0].Name)
	}
}

// Without an operator, a preflight says so, and leaves nothing; also when it is interrupted.
func TestKubectlPreflightWithoutOperator(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	k := aKubectl(t, "alone", c.namespace, changer()...)
	k.fails([]string{"preflight", "-n", c.namespace, "-l", "app=dummyapp", "--timeout", "1ms"}, "no operator has processed exporter", "check that the operator runs")
	if left := c.exporters(); len(left) > 0 {
		t.Errorf("after a timeout, exporter %s stays", left[0].Name)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := k.run(ctx, "preflight", "-n", c.namespace, "-l", "app=dummyapp")
		ended <- err
	}()
	eventually(t, func() bool { return len(c.exporters()) == 1 })
	interrupt()
	if err := <-ended; err == nil {
		t.Error("an interrupted preflight succeeds")
	}
	if left := c.exporters(); len(left) > 0 {
		t.Errorf("after an interrupt, exporter %s stays", left[0].Name)
	}
}

func (c *cluster) exporters() []v1alpha1.PrometheusJmxExporter {
	c.t.Helper()
	var list v1alpha1.PrometheusJmxExporterList
	c.list(&list)
	return list.Items
}
