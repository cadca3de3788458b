##@ Demo

.PHONY: demo
demo: ## Show the main job on a real kind cluster (CLUSTER=existing: in the current context).
	@CLUSTER='$(CLUSTER)' hack/demo/demo up

.PHONY: demo-down
demo-down: ## Take away the demo, the cluster, and all that they started.
	@CLUSTER='$(CLUSTER)' hack/demo/demo down
