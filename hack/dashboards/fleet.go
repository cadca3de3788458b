package main

// The operator's gauges are served by each replica: max keeps them from counting twice.
var fleet = board{
	name: "jmx-fleet", title: "JMX exporters / Fleet",
	about: "Which pods are attached, which are not and why: docs/troubleshooting.md has a section for each reason.",
	rows: []row{
		{"Now", []panel{
			now("Attached", "Pods that are Annotated.", `sum(jmx_exporter_operator_attachments{phase="Annotated",reason=""}) or vector(0)`),
			now("Not attached", "Pods that a phase does not hold of, refused ones too.", `sum(jmx_exporter_operator_attachments{reason!=""}) or vector(0)`),
			now("Refused", "Pods that need a person.", `sum(jmx_exporter_operator_refused_pods) or vector(0)`),
			now("Halted rollouts", "", `sum(jmx_exporter_operator_halted_rollouts) or vector(0)`),
			now("Endpoints up", "JVMs that Prometheus scrapes.", `sum(up{job="jmx"})`),
			now("Endpoints down", "", `count(up{job="jmx"} == 0) or vector(0)`),
		}},
		{"Pods", []panel{
			{title: "Phases", about: "Pods by the phase that they have reached.", unit: "short", targets: []target{{`sum by (phase) (jmx_exporter_operator_attachments)`, "{{phase}}"}}},
			{title: "Reasons", about: "Why pods are not attached.", unit: "short", targets: []target{{`sum by (reason) (jmx_exporter_operator_attachments{reason!=""})`, "{{reason}}"}}, quiet: "all pods are attached"},
			{title: "Refused pods", about: "By reason.", unit: "short", targets: []target{{`sum by (reason) (jmx_exporter_operator_refused_pods)`, "{{reason}}"}}, quiet: "no pod needs a person"},
			{title: "Pods that do not run", about: "By the kubelet's reason; of exporters with spec.alerts.checkRunningPods.", unit: "short", targets: []target{{`sum by (reason) (jmx_exporter_operator_problem_pods)`, "{{reason}}"}}, quiet: "all selected pods run"},
		}},
		{"Rollouts", []panel{
			{title: "Completed steps", about: "By phase.", unit: "ops", targets: []target{{`sum by (phase) (rate(jmx_exporter_operator_step_outcomes_total{reason=""}[$__rate_interval]))`, "{{phase}}"}}},
			{title: "Steps that did not hold", about: "By phase and reason; a pod that waits for a rollout slot counts, too.", unit: "ops", targets: []target{{`sum by (phase, reason) (rate(jmx_exporter_operator_step_outcomes_total{reason!=""}[$__rate_interval]))`, "{{phase}} {{reason}}"}}, quiet: "every step has held since the operator started"},
			{title: "Halted rollouts", about: "By reason.", unit: "short", targets: []target{{`sum by (reason) (jmx_exporter_operator_halted_rollouts)`, "{{reason}}"}}, quiet: "no rollout is halted"},
			{title: "Pods that paused a rollout", about: "A container in them exited soon after an attach or a change.", unit: "short", targets: []target{{`sum(jmx_exporter_operator_restarted_pods)`, "pods"}}, quiet: "no container exited soon after an attach"},
			{title: "Stalled exporters", about: "By reason.", unit: "short", targets: []target{{`sum by (reason) (jmx_exporter_operator_stalled_exporters)`, "{{reason}}"}}, quiet: "no exporter is Stalled"},
		}},
		{"Scrapes", []panel{
			{title: "Conditions", about: "Pods whose scrapes are incomplete or expensive.", unit: "short", targets: []target{{`sum by (condition, reason) (jmx_exporter_operator_attachment_conditions)`, "{{condition}} {{reason}}"}}, quiet: "all scrapes are complete and cheap"},
			{title: "Certificates expire in", about: "The earliest of each exporter; of all without --metrics-names.", unit: "s", targets: []target{{`min by (namespace, exporter) (jmx_exporter_operator_certificate_expiry_timestamp_seconds) - time()`, "{{namespace}} {{exporter}}"}}, quiet: "no exporter has spec.endpointSecurity"},
		}},
	},
}

func now(title, about, expr string) panel {
	return panel{title: title, about: about, unit: "short", single: true, targets: []target{{expr, ""}}}
}
