package main

// The dashboards of applications need the rule sets of config/rules.

var kafka = board{
	name: "jmx-kafka", title: "JMX exporters / Kafka",
	about:     "Kafka brokers with the rule set kafka: docs/rule-sets.md.",
	variables: []string{"namespace", "pod"},
	rows: []row{
		{"Cluster", []panel{
			ofAll("Offline partitions", "Partitions without a leader.", `sum(kafka_controller_offline_partitions{$jvm} and on (namespace, pod, instance) kafka_controller_active{$jvm} == 1)`),
			ofAll("Under min ISR", "Partitions to which producers with acks=all cannot write.", `sum(kafka_under_min_isr_partitions{$jvm})`),
			ofAll("Under-replicated", "Partitions with a replica that is not in sync.", `sum(kafka_under_replicated_partitions{$jvm})`),
			ofAll("Offline log directories", "", `sum(kafka_offline_log_directories{$jvm})`),
			ofAll("Active controllers", "1 if all is well.", `sum(kafka_controller_active{$jvm})`),
			ofAll("Brokers", "Registered and not fenced.", `max(kafka_controller_active_brokers{$jvm})`),
		}},
		{"Traffic", []panel{
			ofJVMs("Messages", "By topic.", "ops", `sum by (topic) (rate(kafka_topic_messages_total{$jvm}[$__rate_interval]))`, "{{topic}}"),
			ofJVMs("Bytes from producers", "By topic.", "Bps", `sum by (topic) (rate(kafka_topic_received_bytes_total{$jvm}[$__rate_interval]))`, "{{topic}}"),
			ofJVMs("Bytes to consumers", "By topic.", "Bps", `sum by (topic) (rate(kafka_topic_sent_bytes_total{$jvm}[$__rate_interval]))`, "{{topic}}"),
			ofJVMs("Size on disk", "By topic, all replicas.", "bytes", `sum by (topic) (kafka_partition_size_bytes{$jvm})`, "{{topic}}"),
			ofJVMs("Failed requests", "Produce and fetch.", "ops", `sum by (pod, instance, request) (rate(kafka_failed_requests_total{$jvm}[$__rate_interval]))`, "{{pod}} {{instance}} {{request}}"),
			ofJVMs("Commits of offsets", "", "ops", `rate(kafka_offset_commits_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}}"),
		}},
		{"Requests", []panel{
			ofJVMs("Time of a request", "The 99th percentile.", "s", `kafka_request_duration_seconds{percentile="99",$jvm}`, "{{pod}} {{instance}} {{request}}"),
			ofJVMs("Where the time goes", "The 99th percentile of each phase of a produce request.", "s", `max by (phase) (kafka_request_phase_duration_seconds{request="Produce",percentile="99",$jvm})`, "{{phase}}"),
			ofJVMs("Requests", "By type.", "reqps", `sum by (request) (rate(kafka_requests_total{$jvm}[$__rate_interval]))`, "{{request}}"),
			ofJVMs("Error codes in responses", "NONE left out.", "ops", `sum by (request, error) (rate(kafka_responses_total{error!="NONE",$jvm}[$__rate_interval]))`, "{{request}} {{error}}").quietWhile("no response has had an error since the broker started"),
			ofJVMs("Idle threads", "Request handlers and network threads; near 0, the broker is saturated.", "percentunit", `kafka_request_handler_idle_ratio{$jvm}`, "{{pod}} {{instance}} handlers").and(`kafka_network_processor_idle_ratio{$jvm}`, "{{pod}} {{instance}} network"),
			ofJVMs("Connections", "By listener.", "short", `sum by (pod, instance, listener) (kafka_connections{$jvm})`, "{{pod}} {{instance}} {{listener}}"),
		}},
		{"Replication", []panel{
			ofJVMs("Changes of replicas in sync", "", "ops", `rate(kafka_isr_shrinks_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} shrinks").and(`rate(kafka_isr_expands_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} expands"),
			ofJVMs("Lag of replicas", "Messages that the most delayed replica is behind.", "short", `kafka_replica_lag_messages_max{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("Partitions", "Led by each broker.", "short", `kafka_leader_partitions{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("Rebalances of groups", "", "ops", `rate(kafka_classic_group_rebalances_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} classic").and(`rate(kafka_consumer_group_rebalances_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} consumer"),
		}},
	},
}

var cassandra = board{
	name: "jmx-cassandra", title: "JMX exporters / Cassandra",
	about:     "Cassandra nodes with the rule set cassandra: docs/rule-sets.md.",
	variables: []string{"namespace", "pod"},
	rows: []row{
		{"Cluster", []panel{
			ofAll("Nodes down", "As the node sees it that sees most.", `max(cassandra_nodes{state="Down",$jvm})`),
			ofAll("Unavailable", "Requests per second for which too few replicas were up.", `sum(rate(cassandra_unavailable_requests_total{$jvm}[$__rate_interval]))`),
			ofAll("Timeouts", "Requests per second.", `sum(rate(cassandra_request_timeouts_total{$jvm}[$__rate_interval]))`),
			ofAll("Dropped", "Messages per second between nodes.", `sum(rate(cassandra_dropped_messages_total{$jvm}[$__rate_interval]))`),
			ofAll("Pending compactions", "", `sum(cassandra_compactions_pending{$jvm})`),
			ofAll("Errors", "Per second, that nothing handled.", `sum(rate(cassandra_exceptions_total{$jvm}[$__rate_interval]))`),
		}},
		{"Requests", []panel{
			ofJVMs("Requests", "That nodes coordinate, by kind.", "reqps", `sum by (request) (rate(cassandra_requests_total{$jvm}[$__rate_interval]))`, "{{request}}"),
			ofJVMs("Time of a request", "The 99th percentile of the slowest node.", "s", `max by (request) (cassandra_request_duration_seconds{percentile="99",$jvm})`, "{{request}}"),
			ofJVMs("Failures", "Timeouts, unavailable replicas and errors.", "reqps", `sum by (request) (rate(cassandra_request_timeouts_total{$jvm}[$__rate_interval]) + rate(cassandra_unavailable_requests_total{$jvm}[$__rate_interval]) + rate(cassandra_failed_requests_total{$jvm}[$__rate_interval]))`, "{{request}}"),
			ofJVMs("Clients", "Connections.", "short", `cassandra_clients{$jvm}`, "{{pod}} {{instance}}"),
		}},
		{"Tables", []panel{
			ofJVMs("Reads", "Local, by table.", "reqps", `sum by (keyspace, table) (rate(cassandra_table_reads_total{$jvm}[$__rate_interval]))`, "{{keyspace}}.{{table}}"),
			ofJVMs("Writes", "Local, by table.", "reqps", `sum by (keyspace, table) (rate(cassandra_table_writes_total{$jvm}[$__rate_interval]))`, "{{keyspace}}.{{table}}"),
			ofJVMs("Time of a local read", "The 99th percentile of the slowest node.", "s", `max by (keyspace, table) (cassandra_table_read_duration_seconds{percentile="99",$jvm})`, "{{keyspace}}.{{table}}"),
			ofJVMs("Tombstones", "That a read meets; 99th percentile.", "short", `max by (keyspace, table) (cassandra_table_tombstones_scanned{$jvm})`, "{{keyspace}}.{{table}}"),
			ofJVMs("Size", "", "bytes", `sum by (keyspace, table) (cassandra_table_size_bytes{$jvm})`, "{{keyspace}}.{{table}}"),
			ofJVMs("SSTables", "", "short", `sum by (keyspace, table) (cassandra_table_sstables{$jvm})`, "{{keyspace}}.{{table}}"),
		}},
		{"Work that waits", []panel{
			ofJVMs("Pending tasks", "By thread pool.", "short", `sum by (pod, instance, pool) (cassandra_pool_pending_tasks{$jvm})`, "{{pod}} {{instance}} {{pool}}"),
			ofJVMs("Blocked tasks", "By thread pool.", "ops", `sum by (pod, instance, pool) (rate(cassandra_pool_task_blocks_total{$jvm}[$__rate_interval]))`, "{{pod}} {{instance}} {{pool}}"),
			ofJVMs("Compacted bytes", "", "Bps", `rate(cassandra_compacted_bytes_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}}"),
			ofJVMs("Wait for the commit log", "The 99th percentile.", "s", `cassandra_commit_log_sync_wait_seconds{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("Data", "Of each node.", "bytes", `cassandra_load_bytes{$jvm}`, "{{pod}} {{instance}}"),
			ofJVMs("Hints", "Writes kept for other nodes.", "ops", `rate(cassandra_hints_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}}"),
		}},
	},
}

var tomcat = board{
	name: "jmx-tomcat", title: "JMX exporters / Tomcat",
	about:     "Tomcats with the rule set tomcat or spring-boot: docs/rule-sets.md.",
	variables: []string{"namespace", "pod"},
	rows: []row{
		{"Requests", []panel{
			ofJVMs("Requests", "By connector.", "reqps", `sum by (pod, instance, connector) (rate(tomcat_requests_total{$jvm}[$__rate_interval]))`, "{{pod}} {{instance}} {{connector}}"),
			ofJVMs("Errors", "Of the requests; a status of 400 or more.", "percentunit", `sum by (pod, instance, connector) (rate(tomcat_request_errors_total{$jvm}[$__rate_interval])) / sum by (pod, instance, connector) (rate(tomcat_requests_total{$jvm}[$__rate_interval]))`, "{{pod}} {{instance}} {{connector}}"),
			ofJVMs("Mean time of a request", "", "s", `sum by (pod, instance, connector) (rate(tomcat_request_duration_seconds_total{$jvm}[$__rate_interval])) / sum by (pod, instance, connector) (rate(tomcat_requests_total{$jvm}[$__rate_interval]))`, "{{pod}} {{instance}} {{connector}}"),
			ofJVMs("Bytes sent and received", "", "Bps", `rate(tomcat_sent_bytes_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} sent").and(`rate(tomcat_received_bytes_total{$jvm}[$__rate_interval])`, "{{pod}} {{instance}} received"),
		}},
		{"Threads and connections", []panel{
			ofJVMs("Busy threads", "Of those that there may be; at 1, requests wait.", "percentunit", `tomcat_busy_threads{$jvm} / (tomcat_threads_limit{$jvm} > 0)`, "{{pod}} {{instance}} {{connector}}"),
			ofJVMs("Threads", "", "short", `tomcat_threads{$jvm}`, "{{pod}} {{instance}} {{connector}}"),
			ofJVMs("Connections", "Idle ones wait for their next request.", "short", `tomcat_connections{$jvm}`, "{{pod}} {{instance}} {{connector}}").and(`tomcat_idle_connections{$jvm}`, "{{pod}} {{instance}} {{connector}} idle"),
			ofJVMs("Connections in use of data sources", "Of those that there may be.", "percentunit", `tomcat_datasource_active_connections{$jvm} / (tomcat_datasource_connections_limit{$jvm} > 0)`, "{{pod}} {{instance}} {{datasource}}").quietWhile("Tomcat has no data source"),
		}},
		{"Applications", []panel{
			ofJVMs("Sessions", "By context.", "short", `sum by (context) (tomcat_sessions{$jvm})`, "{{context}}"),
			ofJVMs("New and rejected sessions", "", "ops", `sum by (context) (rate(tomcat_new_sessions_total{$jvm}[$__rate_interval]))`, "{{context}} new").and(`sum by (context) (rate(tomcat_sessions_rejected_total{$jvm}[$__rate_interval]))`, "{{context}} rejected"),
			ofJVMs("Requests of servlets", "The ten with most.", "reqps", `topk(10, sum by (context, servlet) (rate(tomcat_servlet_requests_total{$jvm}[$__rate_interval])))`, "{{context}} {{servlet}}").quietWhile("the rule set is spring-boot"),
			ofJVMs("Time in servlets", "Of one second; the ten with most.", "percentunit", `topk(10, sum by (context, servlet) (rate(tomcat_servlet_duration_seconds_total{$jvm}[$__rate_interval])))`, "{{context}} {{servlet}}").quietWhile("the rule set is spring-boot"),
		}},
	},
}

// ofAll is the last value of an expression in which $jvm selects the JVMs.
func ofAll(title, about, expr string) panel {
	p := ofJVMs(title, about, "short", expr, "")
	p.single = true
	return p
}
