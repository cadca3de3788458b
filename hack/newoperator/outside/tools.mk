# Where the tools are, and from which folder the image is built.

# controller-gen and kustomize, pinned in tools/go.mod, a module of its own beside a folder vendor. To
# upgrade one: go get -C tools -tool sigs.k8s.io/controller-tools/cmd/controller-gen@latest.
tool = $$(go tool -C tools -n $(1))
# etcd and kube-apiserver for the tests, of the Kubernetes that k8s.io/api is of. setup-envtest downloads
# them once; KUBEBUILDER_ASSETS names a folder that has them already.
KUBERNETES = $(shell go list -m -f '{{.Version}}' k8s.io/api | sed -E 's/^v0\.([0-9]+)\..*/1.\1/')
ASSETS = go run sigs.k8s.io/controller-runtime/tools/setup-envtest@v0.25.1 use -p path $(KUBERNETES)
CONTEXT := .

.PHONY: context
context:
	@[ -d vendor ] || ! grep -qE '^replace .* => [./]' go.mod || { echo "go.mod replaces a module by a folder, which the build of the image does not see. Require a published version of it, or run go mod vendor, and again after each change in the folder." >&2; exit 1; }
