##@ Cluster

.PHONY: cluster-up
cluster-up: ## Create the kind cluster, with or without a container engine and a registry.
	@hack/cluster up

.PHONY: cluster-down
cluster-down: ## Delete the kind cluster and everything that cluster-up started.
	@hack/cluster down

.PHONY: cluster-status
cluster-status: ## Show which parts of the cluster are running.
	@hack/cluster status || true
