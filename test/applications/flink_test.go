package applications

import "os/exec"

var flink = application{start: startFlink, atMost: 60, want: []string{
	`flink_running_jobs > 0`,
	`flink_task_managers > 0`,
	`flink_task_slots > 0`,
	`flink_available_task_slots`,
	`flink_job_restarts_total{flink_job="orders"}`,
	`flink_job_running_seconds{flink_job="orders"} > 0`,
	`flink_job_completed_checkpoints_total{flink_job="orders"} > 0`,
	`flink_job_failed_checkpoints_total{flink_job="orders"}`,
	`flink_job_checkpoints_in_progress{flink_job="orders"}`,
	`flink_job_last_checkpoint_duration_seconds{flink_job="orders"} > 0`,
	`flink_job_last_checkpoint_size_bytes{flink_job="orders"} > 0`,
	`flink_task_received_records_total{flink_job="orders", subtask="1"}`,
	`flink_task_sent_records_total{flink_job="orders", subtask="1"}`,
	`flink_task_received_bytes_total{flink_job="orders", subtask="1"}`,
	`flink_task_sent_bytes_total{flink_job="orders", subtask="1"}`,
	`flink_task_busy_ratio{flink_job="orders", subtask="1"} > 0`,
	`flink_task_idle_ratio{flink_job="orders", subtask="1"}`,
	`flink_task_back_pressured_ratio{flink_job="orders", subtask="1"}`,
	`flink_task_input_buffer_usage_ratio{flink_job="orders", subtask="1"}`,
	`flink_task_output_buffer_usage_ratio{flink_job="orders", subtask="1"}`,
	`flink_managed_memory_used_bytes`,
	`flink_managed_memory_bytes > 0`,
	`flink_network_memory_used_bytes`,
	`flink_network_memory_bytes > 0`,
}}

// startFlink runs a job in a JobManager and a TaskManager in the same JVM.
func startFlink(m machine) *exec.Cmd {
	m.t.Helper()
	command(m.t, "javac", "-d", m.dir, "-cp", m.jars(), m.file("Job.java"))
	return m.java("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", m.dir+":"+m.jars(), "Job")
}
