package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// What the commands that see print, of exporters and records in a real API server.
func TestKubectlSees(t *testing.T) {
	t.Parallel()
	s := aShop(t, "shop")
	s.fill()
	s.pod("stray-0", "stray")
	out := aPod("ledger-1").annotated(v1alpha1.AnnotationOptOut, "true")
	out.pod.Labels["app"] = "ledger"
	s.run(out)
	pending := aPod("ledger-2")
	pending.pod.Labels["app"] = "ledger"
	s.changeStatus(s.run(pending), func(status *corev1.PodStatus) { status.Phase = corev1.PodPending })
	s.pod("ledger-3", "ledger")
	k := aKubectl(t, "viewer", s.namespace, viewer()...)
	for name, test := range map[string]struct {
		args  []string
		stdin string
	}{
		"status":          {args: []string{"status", "-n", "shop"}},
		"status-one":      {args: []string{"status", "-n", "shop", "ledger"}},
		"status-json":     {args: []string{"status", "-n", "shop", "payroll", "-o", "json"}},
		"status-none":     {args: []string{"status", "-n", "shop", "none"}},
		"status-wide":     {args: []string{"status", "-A"}},
		"status-name":     {args: []string{"status", "-n", "shop", "-o", "name"}},
		"status-format":   {args: []string{"status", "-n", "shop", "-o", "wide"}},
		"why-annotated":   {args: []string{"why", "-n", "shop", "payroll-0"}},
		"why-refused":     {args: []string{"why", "-n", "shop", "payroll-1"}},
		"why-failing":     {args: []string{"why", "-n", "shop", "payroll-2"}},
		"why-yaml":        {args: []string{"why", "-n", "shop", "payroll-2", "-o", "yaml"}},
		"why-restarted":   {args: []string{"why", "-n", "shop", "ledger-0"}},
		"why-opted-out":   {args: []string{"why", "-n", "shop", "ledger-1"}},
		"why-pending":     {args: []string{"why", "-n", "shop", "ledger-2"}},
		"why-unprocessed": {args: []string{"why", "-n", "shop", "ledger-3"}},
		"why-stray":       {args: []string{"why", "-n", "shop", "stray-0"}},
		"why-none":        {args: []string{"why", "-n", "shop", "none"}},
		"check-accepted":  {args: []string{"check", "-f", "-"}, stdin: "lowercaseOutputname: true\nhostPort: ''\nrules:\n- pattern: .*\n"},
		"check-invalid":   {args: []string{"check", "-f", "-"}, stdin: "rules:\n- patern: .*\n"},
		"check-json":      {args: []string{"check", "-f", "-", "-o", "json"}, stdin: "rules:\n- patern: .*\n"},
		"check-name":      {args: []string{"check", "-f", "-", "-o", "name"}},
		"help":            {args: []string{"help", "detach"}},
	} {
		t.Run(name, func(t *testing.T) {
			with := *k
			with.t, with.stdin = t, test.stdin
			compare(t, name, with.transcript(test.args...))
		})
	}
}
