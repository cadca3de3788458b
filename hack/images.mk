##@ Images

.PHONY: images
images: ## Build the container images (as archives if there is no container engine).
	@hack/images build

.PHONY: images-load
images-load: ## Build the images and load them into the kind cluster.
	@hack/images load
