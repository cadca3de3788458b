package main

import "strings"

var jvm = board{
	name: "jmx-jvm", title: "JMX exporters / JVM",
	about:     "JVMs with the agent: heap, garbage collection, threads, classes, CPU, and what their scrapes cost.",
	variables: []string{"namespace", "pod"},
	rows: []row{
		{"Memory", []panel{
			ofJVMs("Heap used", "", "bytes", "sum by (namespace, pod, instance) (jvm_memory_used_bytes{area=\"heap\",$jvm})", "{{pod}} {{instance}}"),
			ofJVMs("Heap used of the maximum", "JVMs whose maximum is not defined are missing.", "percentunit", `sum by (namespace, pod, instance) (jvm_memory_used_bytes{area="heap",$jvm}) / (sum by (namespace, pod, instance) (jvm_memory_max_bytes{area="heap",$jvm}) > 0)`, "{{pod}} {{instance}}"),
			ofJVMs("Pools", "Heap and other memory, by pool.", "bytes", `sum by (pod, instance, pool) (jvm_memory_pool_used_bytes{$jvm})`, "{{pod}} {{instance}} {{pool}}"),
			ofJVMs("Resident memory of the process", "", "bytes", `process_resident_memory_bytes{$jvm}`, "{{pod}} {{instance}}"),
		}},
		{"Garbage collection", []panel{
			ofJVMs("Time in collections", "Of one second, by collector.", "percentunit", `rate(jvm_gc_collection_seconds_sum{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} {{gc}}"),
			ofJVMs("Collections", "", "ops", `rate(jvm_gc_collection_seconds_count{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} {{gc}}"),
		}},
		{"CPU, threads, classes", []panel{
			ofJVMs("CPU", "Of the whole process, in CPUs.", "short", `rate(process_cpu_seconds_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}}"),
			ofJVMs("Threads", "", "short", `jvm_threads_current{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("Thread states", "", "short", `sum by (pod, instance, state) (jvm_threads_state{$jvm})`, "{{pod}} {{instance}} {{state}}"),
			ofJVMs("Loaded classes", "", "short", `jvm_classes_currently_loaded{$jvm}`, "{{pod}} {{instance}}"),
		}},
		{"What a scrape costs", []panel{
			ofJVMs("Duration of a collection", "More than 5 s is too much: docs/collection-costs.md.", "s", `jmx_exporter_collection_duration_seconds{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("CPU time of a collection", "Missing if the JVM does not measure it.", "s", `jmx_exporter_collection_cpu_seconds{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("Heap allocated by a collection", "Missing if the JVM does not measure it.", "bytes", `jmx_exporter_collection_allocated_bytes{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("Series and MBeans", "", "short", `jmx_exporter_collection_series{$jvm}`, "{{pod}} {{instance}} series").and(`jmx_exporter_collection_mbeans{$jvm}`, "{{pod}} {{instance}} MBeans"),
			ofJVMs("Scrapes that fail in part", "1: something is missing.", "short", `jmx_scrape_error{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("What is missing", "By domain and reason: docs/agent.md.", "short", `sum by (pod, instance, domain, reason) (jmx_exporter_skipped{$jvm})`, "{{pod}} {{instance}} {{domain}} {{reason}}").quietWhile("nothing is missing"),
		}},
	},
}

// selected selects the JVMs of the variables.
const selected = `job="jmx",namespace=~"$namespace",pod=~"$pod"`

// ofJVMs is a graph of an expression in which $jvm selects the JVMs.
func ofJVMs(title, about, unit, expr, legend string) panel {
	return panel{title: title, about: about, unit: unit}.and(expr, legend)
}

func (p panel) and(expr, legend string) panel {
	p.targets = append(p.targets, target{strings.ReplaceAll(expr, "$jvm", selected), legend})
	return p
}

func (p panel) quietWhile(reason string) panel {
	p.quiet = reason
	return p
}
