package main

var operator = board{
	name: "jmx-operator", title: "JMX exporters / Operator",
	about: "The operator itself: reconciles, execs, queues, errors, requests to the API server.",
	rows: []row{
		{"Now", []panel{
			now("Replicas up", "", `sum(up{job="jmx-exporter-operator"})`),
			now("Leaders", "", `sum(leader_election_master_status{name=~"jmx-exporter-operator(-[0-9]+)?"})`).quietWhile("the operator runs with --leader-elect=false"),
			now("Execs in progress", "", `sum(jmx_exporter_operator_effects_in_flight{kind="exec"}) or vector(0)`),
			now("Queued", "Objects that wait to be reconciled.", `sum(workqueue_depth{job="jmx-exporter-operator"})`),
		}},
		{"Reconciles", []panel{
			graph("Reconciles", "", "ops", `sum by (controller, result) (rate(controller_runtime_reconcile_total{job="jmx-exporter-operator"}[$__rate_interval]))`, "{{controller}} {{result}}"),
			graph("Errors", "", "ops", `sum by (controller) (rate(controller_runtime_reconcile_errors_total{job="jmx-exporter-operator"}[$__rate_interval]))`, "{{controller}}"),
			graph("Duration", "The 95th percentile.", "s", `histogram_quantile(0.95, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket{job="jmx-exporter-operator"}[$__rate_interval])))`, "{{controller}}"),
			graph("Queue", "", "short", `sum by (name) (workqueue_depth{job="jmx-exporter-operator"})`, "{{name}}"),
			graph("Waiting without a worker", "Reconciles that wait for a worker of the share of their namespace, or for a place for an exec or a probe. They are not in the queue.", "short", `sum by (controller, reason) (jmx_exporter_operator_waiting_requests)`, "{{controller}} {{reason}}"),
			graph("Time in the queue", "The 95th percentile.", "s", `histogram_quantile(0.95, sum by (name, le) (rate(workqueue_queue_duration_seconds_bucket{job="jmx-exporter-operator"}[$__rate_interval])))`, "{{name}}"),
			graph("Duration of steps", "The 95th percentile, by phase.", "s", `histogram_quantile(0.95, sum by (phase, le) (rate(jmx_exporter_operator_step_duration_seconds_bucket[$__rate_interval])))`, "{{phase}}"),
		}},
		{"Effects", []panel{
			graph("Effects", "What the operator does: execs, calls of the helper, HTTP requests, writes.", "ops", `sum by (kind, result) (rate(jmx_exporter_operator_effects_total[$__rate_interval]))`, "{{kind}} {{result}}"),
			graph("In progress", "", "short", `sum by (kind) (jmx_exporter_operator_effects_in_flight)`, "{{kind}}"),
			graph("Bytes on exec streams", "Through the API server.", "Bps", `sum by (direction) (rate(jmx_exporter_operator_exec_bytes_total[$__rate_interval]))`, "{{direction}}").quietWhile("nothing has been executed since the operator started"),
			graph("Requests to the API server", "By method and status.", "reqps", `sum by (method, code) (rate(rest_client_requests_total{job="jmx-exporter-operator"}[$__rate_interval]))`, "{{method}} {{code}}"),
		}},
		{"Process", []panel{
			graph("CPU", "In CPUs.", "short", `rate(process_cpu_seconds_total{job="jmx-exporter-operator"}[$__rate_interval])`, "{{instance}}"),
			graph("Memory", "Resident memory.", "bytes", `process_resident_memory_bytes{job="jmx-exporter-operator"}`, "{{instance}}"),
		}},
	},
}

func graph(title, about, unit, expr, legend string) panel {
	return panel{title: title, about: about, unit: unit, targets: []target{{expr, legend}}}
}
