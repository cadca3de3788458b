package applications

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
)

var cassandra = application{start: startCassandra, atMost: 220, want: []string{
	`cassandra_request_timeouts_total{request="Read"}`,
	`cassandra_unavailable_requests_total{request="Read"}`,
	`cassandra_failed_requests_total{request="Read"}`,
	`cassandra_requests_total{request="Read"} > 0`,
	`cassandra_request_seconds_total{request="Read"} > 0`,
	`cassandra_request_duration_seconds{percentile="99", request="Write"} > 0`,
	`cassandra_clients > 0`,
	`cassandra_failed_authentications_total`,
	`cassandra_table_reads_total{keyspace="shop", table="orders"} > 0`,
	`cassandra_table_read_seconds_total{keyspace="shop", table="orders"} > 0`,
	`cassandra_table_read_duration_seconds{keyspace="shop", percentile="99", table="orders"} > 0`,
	`cassandra_table_writes_total{keyspace="shop", table="orders"} > 0`,
	`cassandra_table_write_seconds_total{keyspace="shop", table="orders"} > 0`,
	`cassandra_table_write_duration_seconds{keyspace="shop", percentile="99", table="orders"} > 0`,
	`cassandra_table_size_bytes{keyspace="shop", table="orders"}`,
	`cassandra_table_sstables{keyspace="shop", table="orders"}`,
	`cassandra_table_memtable_bytes{keyspace="shop", table="orders"} > 0`,
	`cassandra_table_pending_compactions{keyspace="shop", table="orders"}`,
	`cassandra_table_partitions{keyspace="shop", table="orders"} > 0`,
	`cassandra_table_tombstones_scanned{keyspace="shop", table="orders"}`,
	`cassandra_pool_active_tasks{path="internal", pool="CompactionExecutor"}`,
	`cassandra_pool_pending_tasks{path="internal", pool="CompactionExecutor"}`,
	`cassandra_pool_blocked_tasks{path="internal", pool="CompactionExecutor"}`,
	`cassandra_pool_task_blocks_total{path="internal", pool="CompactionExecutor"}`,
	`cassandra_pool_completed_tasks_total{path="internal", pool="CompactionExecutor"}`,
	`cassandra_dropped_messages_total{message="MUTATION"}`,
	`cassandra_load_bytes > 0`,
	`cassandra_exceptions_total`,
	`cassandra_hints_total`,
	`cassandra_hints_in_progress`,
	`cassandra_commit_log_pending_tasks`,
	`cassandra_commit_log_size_bytes > 0`,
	`cassandra_commit_log_sync_wait_seconds`,
	`cassandra_memtable_pending_flushes`,
	`cassandra_compactions_pending`,
	`cassandra_compactions_total`,
	`cassandra_compacted_bytes_total`,
	`cassandra_cache_hits_total{cache="KeyCache"}`,
	`cassandra_cache_requests_total{cache="KeyCache"}`,
	`cassandra_cache_size_bytes{cache="KeyCache"}`,
	`cassandra_cache_capacity_bytes{cache="KeyCache"} > 0`,
	`cassandra_nodes{state="Up"} > 0`,
}}

// opened are the packages of the JDK that Cassandra's own start script opens.
const opened = "java.io java.lang java.lang.module java.lang.reflect java.math java.net java.nio java.util java.util.concurrent java.util.concurrent.atomic " +
	"jdk.internal.loader jdk.internal.ref jdk.internal.reflect jdk.internal.math jdk.internal.module jdk.internal.util.jar jdk.internal.misc sun.nio.ch"

// startCassandra runs a node, with a client that writes and reads.
func startCassandra(m machine) *exec.Cmd {
	m.t.Helper()
	_, storage, err := net.SplitHostPort(address(m.t))
	if err != nil {
		m.t.Fatal(err)
	}
	_, native, err := net.SplitHostPort(address(m.t))
	if err != nil {
		m.t.Fatal(err)
	}
	configuration := write(m.t, m.dir, "cassandra.yaml", strings.NewReplacer("STORAGE", storage, "NATIVE", native).Replace(m.read("cassandra.yaml")))
	logs := "-Dlogback.configurationFile=" + m.file("logback.xml")
	args := []string{
		logs, "-Djava.io.tmpdir=" + m.dir, "-Dcassandra.config=file://" + configuration, "-Dcassandra.storagedir=" + filepath.Join(m.dir, "data"), "-Djdk.attach.allowAttachSelf=true",
		"-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=0", "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED",
		"--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED", "--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED",
	}
	for name := range strings.FieldsSeq(opened) {
		args = append(args, "--add-opens=java.base/"+name+"=ALL-UNNAMED", "--add-exports=java.base/"+name+"=ALL-UNNAMED")
	}
	jvm := m.java(append(args, "org.apache.cassandra.service.CassandraDaemon")...)
	if !soon(m.t, func() bool {
		connection, err := new(net.Dialer).DialContext(m.t.Context(), "tcp", "127.0.0.1:"+native)
		if err == nil {
			connection.Close()
		}
		return err == nil
	}) {
		m.t.Fatal("Cassandra does not listen")
	}
	m.java(logs, m.file("Load.java"), native)
	return jvm
}
