package applications

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
)

var ofServers = []string{
	`zookeeper_connections > 0`,
	`zookeeper_outstanding_requests`,
	`zookeeper_received_packets_total > 0`,
	`zookeeper_sent_packets_total > 0`,
	`zookeeper_request_duration_seconds_mean > 0`,
	`zookeeper_request_duration_seconds_max > 0`,
	`zookeeper_failed_authentications_total`,
	`zookeeper_slow_syncs_total`,
	`zookeeper_last_sync_duration_seconds`,
	`zookeeper_data_size_bytes`,
	`zookeeper_log_size_bytes > 0`,
	`zookeeper_znodes > 0`,
	`zookeeper_watches > 0`,
}

// zooKeeperAlone is a server that is no ensemble.
var zooKeeperAlone = application{rules: "zookeeper", start: startZooKeeperAlone, atMost: 13, want: ofServers}

// zooKeeper is an ensemble, of a single server.
var zooKeeper = application{start: startZooKeeper, atMost: 15, want: slices.Concat(ofServers, []string{
	`zookeeper_servers > 0`,
	`zookeeper_role{role="Leader"} > 0`,
})}

func startZooKeeperAlone(m machine) *exec.Cmd {
	return startZooKeeperServer(m, "")
}

func startZooKeeper(m machine) *exec.Cmd {
	write(m.t, m.dir, "myid", "1")
	_, quorum, _ := net.SplitHostPort(address(m.t))
	_, election, _ := net.SplitHostPort(address(m.t))
	return startZooKeeperServer(m, fmt.Sprintf("standaloneEnabled=false\ninitLimit=10\nsyncLimit=5\nserver.1=127.0.0.1:%s:%s:participant\n", quorum, election))
}

// startZooKeeperServer runs a server with a client.
func startZooKeeperServer(m machine, ensemble string) *exec.Cmd {
	m.t.Helper()
	client := address(m.t)
	_, port, _ := net.SplitHostPort(client)
	file := write(m.t, m.dir, "zoo.cfg", fmt.Sprintf("tickTime=2000\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n%s", filepath.Clean(m.dir), port, ensemble))
	jvm := m.java("org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
	m.java(m.file("Load.java"), client)
	return jvm
}
