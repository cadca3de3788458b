##@ Demo

.PHONY: demo
demo: ## Run the demo on a kind cluster (CLUSTER=existing: in the current context).
	@CLUSTER='$(CLUSTER)' hack/demo/demo up

.PHONY: demo-down
demo-down: ## Delete the demo, its cluster, and everything that they started.
	@CLUSTER='$(CLUSTER)' hack/demo/demo down
