package applications

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

var ofSolr = []string{
	`solr_requests_total{category="QUERY", collection="products", handler="/select"} > 0`,
	`solr_request_errors_total{category="QUERY", cause="client", collection="products", handler="/select"} > 0`,
	`solr_request_timeouts_total{category="UPDATE", collection="products", handler="/update"}`,
	`solr_request_seconds_total{category="UPDATE", collection="products", handler="/update"} > 0`,
	`solr_request_duration_seconds{category="QUERY", collection="products", handler="/select", percentile="99"} > 0`,
	`solr_documents{collection="products"} > 0`,
	`solr_deleted_documents{collection="products"}`,
	`solr_index_size_bytes{collection="products"} > 0`,
	`solr_index_segments{collection="products"} > 0`,
	`solr_searchers_total{collection="products"} > 0`,
	`solr_failed_searchers_total{cause="maxReached", collection="products"}`,
	`solr_searcher_warmup_seconds{collection="products"}`,
	`solr_added_documents_total{collection="products"} > 0`,
	`solr_deletes_total{collection="products", type="Query"}`,
	`solr_update_errors_total{collection="products"}`,
	`solr_commits_total{collection="products"} > 0`,
	`solr_pending_documents{collection="products"}`,
	`solr_transaction_log_state{collection="products"} > 0`,
	`solr_cache_lookups_total{cache="filterCache", collection="products"} > 0`,
	`solr_cache_hits_total{cache="filterCache", collection="products"}`,
	`solr_cache_evictions_total{cache="filterCache", collection="products"}`,
	`solr_cache_entries{cache="filterCache", collection="products"}`,
	`solr_cache_size_bytes{cache="filterCache", collection="products"} > 0`,
	`solr_cores{state="loaded"} > 0`,
	`solr_filesystem_size_bytes > 0`,
	`solr_filesystem_available_bytes > 0`,
	`solr_pool_active_tasks{pool="updateOnlyExecutor"}`,
	`solr_pool_queued_tasks{pool="updateOnlyExecutor"}`,
	`solr_pool_completed_tasks_total{pool="coreLoadExecutor"}`,
}

// solrAlone is a server that is no SolrCloud.
var solrAlone = application{rules: "solr", start: startSolrAlone, atMost: 180, want: ofSolr}

// solr is a SolrCloud, of a single server.
var solr = application{start: startSolr, atMost: 180, want: append([]string{
	`solr_requests_total{collection="products", handler="/select", replica="replica_n1", shard="shard1"} > 0`,
}, ofSolr...)}

func startSolrAlone(m machine) *exec.Cmd {
	return startSolrServer(m, "cores?action=CREATE&name=products&configSet=products")
}

// startSolr runs Solr with a ZooKeeper in the same JVM. HTTP/2, by which the nodes talk by
// default, is left out.
func startSolr(m machine) *exec.Cmd {
	write(m.t, m.dir, "zoo.cfg", "tickTime=2000\n")
	return startSolrServer(m, "collections?action=CREATE&name=products&numShards=1", "-DzkRun="+address(m.t), "-Dsolr.http1=true")
}

// startSolrServer runs a server with a client; create makes the collection or core.
func startSolrServer(m machine, create string, args ...string) *exec.Cmd {
	m.t.Helper()
	configuration := filepath.Join(m.dir, "configsets/products/conf")
	if err := os.CopyFS(configuration, os.DirFS(m.file("conf"))); err != nil {
		m.t.Fatal(err)
	}
	write(m.t, m.dir, "solr.xml", m.read("solr.xml"))
	endpoint := address(m.t)
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		m.t.Fatal(err)
	}
	jvm := m.java(append(args, "-Dsolr.solr.home="+m.dir, "-Dsolr.default.confdir="+configuration, "-Dsolr.port="+port, m.file("Solr.java"))...)
	m.request(endpoint+"/solr/admin/"+create, http.StatusOK)
	m.java(m.file("Load.java"), endpoint)
	return jvm
}
