##@ Cluster

.PHONY: cluster-up
cluster-up: ## Bring up the kind cluster; where there is no engine or registry, make what is missing.
	@hack/cluster up

.PHONY: cluster-down
cluster-down: ## Take the kind cluster away, with everything that cluster-up started.
	@hack/cluster down

.PHONY: cluster-status
cluster-status: ## Say what of the cluster runs.
	@hack/cluster status || true
