package applications

import (
	"net"
	"net/http"
	"os/exec"
)

var springBoot = application{start: startSpringBoot, atMost: 40, want: []string{
	`spring_http_requests_total{exception="none", method="GET", status="200", uri="/orders"} > 0`,
	`spring_http_request_duration_seconds{method="GET", percentile="99", uri="/orders"} > 0`,
	`tomcat_requests_total > 0`,
	`tomcat_request_errors_total`,
	`tomcat_request_duration_seconds_total`,
	`tomcat_request_duration_seconds_max`,
	`tomcat_received_bytes_total`,
	`tomcat_sent_bytes_total > 0`,
	`tomcat_threads > 0`,
	`tomcat_busy_threads`,
	`tomcat_threads_limit`,
	`tomcat_connections`,
	`tomcat_idle_connections`,
	`tomcat_connections_limit`,
	`tomcat_sessions{context="/", host="localhost"}`,
	`tomcat_new_sessions_total{context="/", host="localhost"}`,
	`tomcat_sessions_expired_total{context="/", host="localhost"}`,
	`tomcat_sessions_rejected_total{context="/", host="localhost"}`,
	`hikari_active_connections{pool="shop"}`,
	`hikari_idle_connections{pool="shop"}`,
	`hikari_connections{pool="shop"} > 0`,
	`hikari_waiting_threads{pool="shop"}`,
	`hikari_connection_timeouts_total{pool="shop"}`,
	`spring_executor_active_threads{executor="applicationTaskExecutor"}`,
	`spring_executor_threads{executor="applicationTaskExecutor"}`,
	`spring_executor_queued_tasks{executor="applicationTaskExecutor"}`,
	`spring_log_events_total{level="info"} > 0`,
}}

// startSpringBoot runs a service with a database, and makes requests.
func startSpringBoot(m machine) *exec.Cmd {
	m.t.Helper()
	command(m.t, "javac", "-d", m.dir, "-cp", m.jars(), m.file("Shop.java"))
	endpoint := address(m.t)
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		m.t.Fatal(err)
	}
	jvm := m.java("-cp", m.dir+":"+m.jars(), "Shop", "--server.port="+port)
	m.request(endpoint+"/orders", http.StatusOK)
	return jvm
}
