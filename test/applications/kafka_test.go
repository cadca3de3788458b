package applications

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

var kafka = application{start: startKafka, atMost: 220, want: []string{
	`kafka_topic_received_bytes_total{topic="orders"} > 0`,
	`kafka_topic_sent_bytes_total{topic="orders"} > 0`,
	`kafka_topic_messages_total{topic="orders"} > 0`,
	`kafka_received_bytes_total > 0`,
	`kafka_sent_bytes_total > 0`,
	`kafka_rejected_bytes_total`,
	`kafka_messages_total > 0`,
	`kafka_replication_received_bytes_total`,
	`kafka_replication_sent_bytes_total`,
	`kafka_failed_requests_total{request="Produce"}`,
	`kafka_partition_size_bytes{partition="1", topic="orders"} > 0`,
	`kafka_partition_end_offset{partition="1", topic="orders"} > 0`,
	`kafka_partition_start_offset{partition="1", topic="orders"}`,
	`kafka_partitions > 0`,
	`kafka_leader_partitions > 0`,
	`kafka_under_replicated_partitions`,
	`kafka_under_min_isr_partitions`,
	`kafka_at_min_isr_partitions > 0`,
	`kafka_offline_replicas`,
	`kafka_reassigning_partitions`,
	`kafka_isr_shrinks_total`,
	`kafka_isr_expands_total`,
	`kafka_replica_lag_messages_max{client_id="Replica"}`,
	`kafka_requests_total{request="Produce"} > 0`,
	`kafka_responses_total{error="NONE", request="Produce"} > 0`,
	`kafka_request_duration_seconds{percentile="99", request="Produce"} > 0`,
	`kafka_request_phase_duration_seconds{percentile="50", phase="Remote", request="FetchConsumer"} > 0`,
	`kafka_request_queue_size`,
	`kafka_response_queue_size`,
	`kafka_request_handler_idle_ratio > 0`,
	`kafka_network_processor_idle_ratio > 0`,
	`kafka_delayed_operations{operation="Fetch"}`,
	`kafka_connections{listener="PLAINTEXT"} > 0`,
	`kafka_connections_accepted_total{listener="PLAINTEXT"} > 0`,
	`kafka_failed_authentications_total{listener="PLAINTEXT"}`,
	`kafka_log_flushes_total`,
	`kafka_log_flush_duration_seconds{percentile="95"}`,
	`kafka_offline_log_directories`,
	`kafka_dead_log_cleaner_threads`,
	`kafka_groups{protocol="classic"} > 0`,
	`kafka_offset_commits_total > 0`,
	`kafka_classic_group_rebalances_total > 0`,
	`kafka_consumer_group_rebalances_total`,
	`kafka_broker_state > 0`,
	`kafka_controller_active > 0`,
	`kafka_controller_offline_partitions`,
	`kafka_controller_imbalanced_partitions`,
	`kafka_controller_partitions > 0`,
	`kafka_controller_topics > 0`,
	`kafka_controller_active_brokers > 0`,
	`kafka_controller_fenced_brokers`,
	`kafka_controller_metadata_errors_total`,
	`kafka_controller_unclean_leader_elections_total`,
	`kafka_raft_voters > 0`,
	`kafka_raft_leader_id > 0`,
	`kafka_raft_epoch > 0`,
	`kafka_raft_commit_latency_seconds`,
}}

// startKafka runs a broker, with a producer and a consumer group.
func startKafka(m machine) *exec.Cmd {
	m.t.Helper()
	broker, controller := address(m.t), address(m.t)
	file := write(m.t, m.dir, "server.properties", m.read("server.properties")+fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://%s\ncontroller.quorum.voters=1@%[2]s\nlog.dirs=%s\n", broker, controller, filepath.Join(m.dir, "data")))
	command(m.t, "java", "-cp", m.jars(), "kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", file)
	jvm := m.java("kafka.Kafka", file)
	m.java(m.file("Load.java"), broker)
	return jvm
}
