##@ Images

.PHONY: images
images: ## Make the container images (by the engine; as archives where there is none).
	@hack/images build

.PHONY: images-load
images-load: ## Make the images and put them into the kind cluster.
	@hack/images load
