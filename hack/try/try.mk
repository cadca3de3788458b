##@ On this host

.PHONY: try
try: ## Start a JVM on this host, attach, scrape and detach it, in seconds, without a cluster.
	@hack/try/try

.PHONY: helper
helper: ## Build the helper: bin/jmx-attach for this host, and those for pods (amd64, arm64).
	@hack/helper-build
