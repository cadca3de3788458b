##@ On this host

.PHONY: try
try: ## Start a JVM here, load the agent while it runs, scrape it, take the agent out: in seconds, without a cluster.
	@hack/try/try

.PHONY: helper
helper: ## Build the helper, bin/jmx-attach, and those that travel to pods (amd64, arm64).
	@hack/helper-build
