package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const runbooks = "https://github.com/banzaicloud/jmx-exporter-operator/blob/main/docs/troubleshooting.md#"

// A situation is series, one sample each minute, and the alert that fires in it; without a
// summary, the alert does not fire.
type situation struct {
	alert, when    string
	series         []string // name{labels} values, in promtool's notation
	after          string
	labels         map[string]string
	summary, about string // about is the anchor of the runbook
}

func situations() []situation {
	type labels = map[string]string
	payroll := labels{"namespace": "shop", "exporter": "payroll"}
	with := func(reason string) labels {
		l := labels{"reason": reason}
		maps.Copy(l, payroll)
		return l
	}
	of := func(metric, reason string) string {
		return fmt.Sprintf(`%s{namespace="shop",exporter="payroll",reason=%q}`, metric, reason)
	}
	const (
		halted     = "jmx_exporter_operator_halted_rollouts"
		restarted  = `jmx_exporter_operator_restarted_pods{namespace="shop",exporter="payroll"}`
		stalled    = "jmx_exporter_operator_stalled_exporters"
		refused    = "jmx_exporter_operator_refused_pods"
		failing    = "jmx_exporter_operator_failing_pods"
		conditions = `jmx_exporter_operator_attachment_conditions{namespace="shop",exporter="payroll",condition="%s",reason="%s"} 1x120`
		expiry     = `jmx_exporter_operator_certificate_expiry_timestamp_seconds{namespace="shop",exporter="payroll"} %dx120`
		leader     = `leader_election_master_status{namespace="jmx-exporter-system",name="jmx-exporter-operator%s",instance="%s"} %dx120`
		shards     = `jmx_exporter_operator_total_shards{namespace="jmx-exporter-system",instance="%s"} %dx120`
		up         = `up{job="%s",namespace="shop",exporter="payroll",instance="%s"} %s`
	)
	return []situation{
		{"JmxRolloutHalted", "a canary rejects the configuration", []string{of(halted, "ConfigRejected") + " 1x10"}, "2m", with("ConfigRejected"), "Halted rollouts: 1 (ConfigRejected)", "configrejected"},
		{"JmxRolloutHalted", "the rollout was resumed", []string{of(halted, "ConfigRejected") + " 1x2 stale"}, "4m", nil, "", ""},
		{"JmxPodsRestarted", "a container exits soon after an attach", []string{restarted + " 1x10"}, "1m", payroll, "Pods with a container that exited soon after an attach or a change: 1", "rolloutpaused"},
		{"JmxPodsRestarted", "a second one halts the rollout", []string{restarted + " 2x10", of(halted, "RestartedAfterAttach") + " 1x10"}, "1m", nil, "", ""},
		{"JmxExporterStalled", "the Secret is gone", []string{of(stalled, "SecretNotFound") + " 1x20"}, "12m", with("SecretNotFound"), "Stalled exporters: 1 (SecretNotFound)", "secretnotfound"},
		{"JmxExporterStalled", "other alerts report it", []string{of(stalled, "ConfigRejected") + " 1x20", of(halted, "ConfigRejected") + " 1x20", of(stalled, "PodsRefused") + " 1x20"}, "12m", nil, "", ""},
		{"JmxPodsRefused", "an image has no shell", []string{of(refused, "NoShell") + " 3x20"}, "16m", with("NoShell"), "Refused pods: 3 (NoShell)", "noshell"},
		{"JmxPodsRefused", "only for some minutes", []string{of(refused, "NoShell") + " 3x10 stale"}, "16m", nil, "", ""},
		{"JmxPodsFailing", "two shards report it", []string{of(failing, "NoSpace") + " 2x20", `jmx_exporter_operator_failing_pods{namespace="shop",exporter="payroll",reason="NoSpace",instance="b"} 2x20`}, "16m", with("NoSpace"), "Failing pods: 4 (NoSpace)", "nospace"},
		{"JmxPodsFailing", "a long rollout, and pods that are refused", []string{
			`jmx_exporter_operator_attachments{namespace="shop",phase="JavaFound",reason="RolloutPending"} 200x20`, of(refused, "NoShell") + " 2x20",
		}, "16m", nil, "", ""},
		{"JmxPodsNotRunning", "a pod crashes", []string{of("jmx_exporter_operator_problem_pods", "CrashLoopBackOff") + " 1x20"}, "6m", with("CrashLoopBackOff"), "Selected pods that do not run: 1 (CrashLoopBackOff)", "pods-that-do-not-run"},
		{"JmxPodsNotRunning", "it runs again", []string{of("jmx_exporter_operator_problem_pods", "CrashLoopBackOff") + " 1x4 stale"}, "6m", nil, "", ""},
		{"JmxScrapesIncomplete", "a value is invalid", []string{fmt.Sprintf(conditions, "ScrapeIncomplete", "InvalidValue")}, "31m", with("InvalidValue"), "Pods with incomplete metrics: 1 (InvalidValue)", "invalidvalue"},
		{"JmxScrapesIncomplete", "it is only expensive", []string{fmt.Sprintf(conditions, "ScrapeExpensive", "CPU")}, "31m", nil, "", ""},
		{"JmxScrapesExpensive", "it takes CPU time", []string{fmt.Sprintf(conditions, "ScrapeExpensive", "CPU")}, "61m", with("CPU"), "Pods with expensive scrapes: 1 (CPU)", "cpu"},
		{"JmxScrapesExpensive", "it is only incomplete", []string{fmt.Sprintf(conditions, "ScrapeIncomplete", "InvalidValue")}, "61m", nil, "", ""},
		{"JmxCertificateExpiring", "in a day", []string{fmt.Sprintf(expiry, 24*3600+61*60)}, "61m", payroll, "The certificate of endpoints expires within a week, or has expired", "a-certificate-expires"},
		{"JmxCertificateExpiring", "in a month", []string{fmt.Sprintf(expiry, 30*24*3600)}, "61m", nil, "", ""},
		{"JmxExporterOperatorDown", "no replica answers", []string{fmt.Sprintf(up, "jmx-exporter-operator", "a", "0x20")}, "6m", labels{}, "No replica of the JMX exporter operator can be scraped", "the-operator-is-down"},
		{"JmxExporterOperatorDown", "it does not exist", nil, "6m", labels{}, "No replica of the JMX exporter operator can be scraped", "the-operator-is-down"},
		{"JmxExporterOperatorDown", "one of two answers", []string{fmt.Sprintf(up, "jmx-exporter-operator", "a", "0x20"), fmt.Sprintf(up, "jmx-exporter-operator", "b", "1x20")}, "6m", nil, "", ""},
		{"JmxExporterOperatorHasNoLeader", "no replica leads", []string{fmt.Sprintf(leader, "", "a", 0), fmt.Sprintf(leader, "", "b", 0), fmt.Sprintf(shards, "a", 1)}, "6m", labels{"namespace": "jmx-exporter-system"}, "The JMX exporter operator in jmx-exporter-system has too few leaders: 0", "the-operator-is-down"},
		{"JmxExporterOperatorHasNoLeader", "one of two leads", []string{fmt.Sprintf(leader, "", "a", 0), fmt.Sprintf(leader, "", "b", 1), fmt.Sprintf(shards, "a", 1)}, "6m", nil, "", ""},
		{"JmxExporterOperatorHasNoLeader", "a shard has no leader", []string{fmt.Sprintf(leader, "", "a", 1), fmt.Sprintf(leader, "-1", "b", 0), fmt.Sprintf(shards, "a", 2), fmt.Sprintf(shards, "b", 2)}, "6m", labels{"namespace": "jmx-exporter-system"}, "The JMX exporter operator in jmx-exporter-system has too few leaders: 1", "the-operator-is-down"},
		{"JmxExporterOperatorHasNoLeader", "a shard does not run", []string{fmt.Sprintf(leader, "", "a", 1), fmt.Sprintf(shards, "a", 2)}, "6m", labels{"namespace": "jmx-exporter-system"}, "The JMX exporter operator in jmx-exporter-system has too few leaders: 1", "the-operator-is-down"},
		{"JmxExporterOperatorHasNoLeader", "both shards lead", []string{fmt.Sprintf(leader, "", "a", 1), fmt.Sprintf(leader, "-1", "b", 1), fmt.Sprintf(shards, "a", 2)}, "6m", nil, "", ""},
		{"JmxEndpointDown", "one of two", []string{fmt.Sprintf(up, "jmx", "a", "0x20"), fmt.Sprintf(up, "jmx", "b", "1x20")}, "16m", payroll, "JVMs in shop that Prometheus cannot scrape: 1", "an-endpoint-is-down"},
		{"JmxEndpointDown", "of another job", []string{fmt.Sprintf(up, "jmx", "a", "1x20"), fmt.Sprintf(up, "nodes", "b", "0x20")}, "16m", nil, "", ""},
		{"JmxScrapeErrors", "something is missing", []string{`jmx_scrape_error{job="jmx",namespace="shop",exporter="payroll",instance="a"} 1x60`}, "31m", payroll, "JVMs in shop whose scrapes fail in part: 1", "the-scrape"},
		{"JmxScrapeErrors", "the operator knows why", []string{`jmx_scrape_error{job="jmx",namespace="shop",exporter="payroll",instance="a"} 1x60`, fmt.Sprintf(conditions, "ScrapeIncomplete", "InvalidValue")}, "31m", nil, "", ""},
		{"JmxScrapeErrors", "nothing is missing", []string{`jmx_scrape_error{job="jmx",namespace="shop",exporter="payroll",instance="a"} 0x60`}, "31m", nil, "", ""},
	}
}

// Each alert fires for its cause, with the labels, the text and the runbook that it is to
// have, and does not fire next to it.
func TestAlerts(t *testing.T) {
	t.Parallel()
	all, file := alerts(t)
	tool := promtool(t)
	run(t, tool, "check", "rules", "--lint=all", "--lint-fatal", file)
	fires, silent := map[string]bool{}, map[string]bool{}
	var tests []any
	for _, s := range situations() {
		i := slices.IndexFunc(all, func(a alert) bool { return a.Alert == s.alert })
		if i < 0 {
			t.Fatalf("there is no alert %s", s.alert)
		}
		expected := map[string]any{"eval_time": s.after, "alertname": s.alert}
		if s.summary == "" {
			silent[s.alert] = true
		} else {
			fires[s.alert] = true
			labels := maps.Clone(all[i].Labels)
			maps.Copy(labels, s.labels)
			expected["exp_alerts"] = []any{map[string]any{"exp_labels": labels, "exp_annotations": map[string]string{
				"summary": s.summary, "description": all[i].Annotations["description"], "runbook_url": runbooks + s.about,
			}}}
		}
		var series []any
		for _, line := range s.series {
			name, values, _ := strings.Cut(line, "} ")
			series = append(series, map[string]string{"series": name + "}", "values": values})
		}
		tests = append(tests, map[string]any{"name": s.alert + ": " + s.when, "interval": "1m", "input_series": series, "alert_rule_test": []any{expected}})
	}
	run(t, tool, "test", "rules", write(t, "tests.yaml", map[string]any{"rule_files": []string{file}, "evaluation_interval": "1m", "tests": tests}))
	for _, a := range all {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s: no situation in which it fires, or none in which it does not", a.Alert)
		}
	}
}

// Each alert says what is the case, what to do, how severe it is, and links to a section of
// docs/troubleshooting.md: its own, or that of the reason, which each reason has.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	var anchors []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(read(t, "docs/troubleshooting.md"), -1) {
		anchors = append(anchors, strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"))
	}
	all, _ := alerts(t)
	for _, a := range all {
		anchor, ok := strings.CutPrefix(a.Annotations["runbook_url"], runbooks)
		if !ok || anchor != "{{ $labels.reason | toLower }}" && !slices.Contains(anchors, anchor) {
			t.Errorf("%s: the runbook %s does not exist", a.Alert, a.Annotations["runbook_url"])
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" {
			t.Errorf("%s: no summary, description or severity", a.Alert)
		}
	}
	for _, s := range situations() {
		if s.about != "" && !slices.Contains(anchors, s.about) {
			t.Errorf("%s: docs/troubleshooting.md has no section #%s", s.alert, s.about)
		}
	}
}

// Each alert asks for metrics that the operator serves, or selects the job or the Leases:
// other programs have metrics of these names, too.
func TestMetrics(t *testing.T) {
	t.Parallel()
	lease := regexp.MustCompile(`(?m)^const name = "(.+)"$`).FindStringSubmatch(read(t, "internal/manager/manager.go"))[1]
	served := read(t, "internal/metrics/metrics.go")
	all, _ := alerts(t)
	for _, a := range all {
		for _, m := range regexp.MustCompile(`\b(up|\w+_\w+)\b(\{[^}]*\})?`).FindAllStringSubmatch(a.Expr, -1) {
			switch metric, labels := m[1], m[2]; {
			case strings.Contains(served, strconv.Quote(metric)):
			case strings.HasPrefix(metric, "jmx_exporter_operator_"):
				t.Errorf("%s asks for %s, which is not served", a.Alert, metric)
			case !strings.Contains(labels, "job=") && !strings.Contains(labels, `name=~"`+lease+"("):
				t.Errorf("%s asks for %s%s of any program", a.Alert, metric, labels)
			}
		}
	}
}
