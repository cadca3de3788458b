##@ Images

.PHONY: images
images: ## Make the container images (as archives, no engine needed).
	@hack/images build

.PHONY: images-load
images-load: ## Make the images and put them into the kind cluster.
	@hack/images load
