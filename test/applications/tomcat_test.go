package applications

import (
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
)

var tomcat = application{start: startTomcat, atMost: 180, want: []string{
	`tomcat_requests_total{connector="http-nio-127.0.0.1-} > 0`,
	`tomcat_request_errors_total > 0`,
	`tomcat_request_duration_seconds_total > 0`,
	`tomcat_request_duration_seconds_max > 0`,
	`tomcat_received_bytes_total`,
	`tomcat_sent_bytes_total > 0`,
	`tomcat_threads > 0`,
	`tomcat_busy_threads`,
	`tomcat_threads_limit > 0`,
	`tomcat_connections > 0`,
	`tomcat_idle_connections`,
	`tomcat_connections_limit > 0`,
	`tomcat_sessions{context="/examples", host="localhost"} > 0`,
	`tomcat_new_sessions_total{context="/examples", host="localhost"} > 0`,
	`tomcat_sessions_expired_total{context="/", host="localhost"}`,
	`tomcat_sessions_rejected_total{context="/", host="localhost"}`,
	`tomcat_servlet_requests_total{context="/examples", host="localhost", servlet="SessionExample"} > 0`,
	`tomcat_servlet_errors_total{context="/", host="localhost", servlet="default"} > 0`,
	`tomcat_servlet_duration_seconds_total{context="/examples", host="localhost", servlet="SessionExample"} > 0`,
	`tomcat_datasource_active_connections{context="/", datasource="jdbc/orders"}`,
	`tomcat_datasource_idle_connections{context="/", datasource="jdbc/orders"} > 0`,
	`tomcat_datasource_connections_limit{context="/", datasource="jdbc/orders"} > 0`,
}}

// startTomcat runs the release of Tomcat with its own applications, and makes requests.
func startTomcat(m machine) *exec.Cmd {
	m.t.Helper()
	releases, err := filepath.Glob(filepath.Join(root, "bin/applications/tomcat/*.tar.gz"))
	if err != nil || len(releases) != 1 {
		m.t.Fatalf("releases: %v %v", releases, err)
	}
	command(m.t, "tar", "--extract", "--file", releases[0], "--directory", m.dir, "--strip-components=1")
	configuration, err := filepath.Abs(m.file("server.xml"))
	if err != nil {
		m.t.Fatal(err)
	}
	endpoint := address(m.t)
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		m.t.Fatal(err)
	}
	jvm := m.java("-cp", m.jars()+":"+filepath.Join(m.dir, "bin/*"), "-Dcatalina.base="+m.dir, "-Dcatalina.home="+m.dir, "-Djava.io.tmpdir="+filepath.Join(m.dir, "temp"), "-Dport="+port,
		"org.apache.catalina.startup.Bootstrap", "-config", configuration, "start")
	m.request(endpoint+"/", http.StatusOK)
	m.request(endpoint+"/examples/servlets/servlet/SessionExample", http.StatusOK)
	m.request(endpoint+"/nowhere", http.StatusNotFound)
	return jvm
}
