# make help lists the targets. Everything that they need beyond Go, gcc, a JDK 17
# and a JDK 25, Maven and Linux, they bring themselves.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=hack/tools/go.mod
LINT := go tool -modfile=hack/tools/lint/go.mod golangci-lint
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
IMG ?= jmx-exporter-operator:dev
MANAGER ?= bin/manager
PREVIOUS ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
KUBECTL ?= kubectl

.PHONY: help
help: ## Show this.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

include hack/demo/demo.mk
include hack/try/try.mk

##@ Tests

.PHONY: test
test: ## Run all tests, and print one summary; with FULL=1 also those that take too long for every change.
	@hack/test

.PHONY: test-unit
test-unit: ## Run the unit tests, on real JVMs, and those of hostile containers.
	@hack/test unit

.PHONY: fuzz
fuzz: ## Fuzz each parser of what comes from a container, FUZZTIME (60s) each.
	@hack/fuzz

.PHONY: test-integration
test-integration: ## Run the operator's controllers against a real etcd and kube-apiserver.
	@hack/test integration

.PHONY: test-examples
test-examples: ## Run the tests of the operators in examples/, and of one that make new-operator writes.
	@hack/test examples

.PHONY: test-agent
test-agent: ## Run the agent's tests on Java 8, 17, 25 and 28; with FULL=1 on all of 8 to 28.
	@hack/test agent

.PHONY: test-e2e
test-e2e: ## Run the whole on a real kind cluster with real JVMs.
	@hack/test e2e

.PHONY: test-offline
test-offline: ## Test hack/offline: that nothing of a cluster is left, among others.
	@hack/test offline

.PHONY: test-release
test-release: ## Build a release twice, push, sign and verify it, with a registry and a key of its own.
	@hack/test release

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what the binaries call (asks the Go vulnerability database).
	go tool -modfile=hack/release/go.mod govulncheck ./...

.PHONY: compatibility
compatibility: ## Write what the last tests came to into the table of docs/compatibility.md.
	@go run ./hack/compatibility

.PHONY: bench
bench: agent helper ## Measure what it takes to attach to 20 JVMs, on the cluster of cluster-up; writes docs/performance.md (15 minutes).
	@hack/images load jmx-exporter-operator:dev dummyapp:17-jdk
	@eval "$$(hack/cluster env)"; CGO_ENABLED=0 go run ./test/bench/attach -page docs/performance.md $(BENCH)

.PHONY: bench-agent
bench-agent: agent ## Measure what the agent costs a JVM beside the stock exporter; writes docs/performance.md (20 minutes).
	go run ./test/bench/agent -stock "$$(agent/stock)" -page docs/performance.md

##@ Build

.PHONY: build
build: ## Build the operator, bin/manager.
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X banzaicloud.com/jmx-exporter-operator/internal/version.Version=$(VERSION)" -o $(MANAGER) ./cmd/manager

.PHONY: run
run: agent helper ## Run the operator from here, against the current context.
	go run ./cmd/manager --leader-elect=false --metrics-secure=false --metrics-bind-address=:8080 --helpers=bin --agent=bin/agent

.PHONY: new-operator
new-operator: ## Write the skeleton of an operator of the kind NAME into examples/ (examples/README.md).
	@hack/new-operator "$(NAME)"

.PHONY: agent
agent: ## Build the agent's jars, bin/agent.
	@agent/build

.PHONY: docker-build
docker-build: ## Build the operator's image with a container engine (make images needs none).
	docker build --build-arg VERSION=$(VERSION) -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the operator's image, IMG.
	docker push $(IMG)

include hack/images.mk
include hack/cluster.mk

##@ Generate and verify

.PHONY: manifests
manifests: ## Generate CRDs, RBAC and admission policies.
	$(TOOL) controller-gen crd paths=./apis/v1alpha1 output:crd:dir=config/crd/bases
	$(TOOL) controller-gen rbac:roleName=jmx-exporter-operator paths=./internal/controller/... output:rbac:dir=config/rbac
	$(TOOL) controller-gen rbac:roleName=jmx-exporter-operator-ephemeral-containers paths=./internal/manager output:rbac:dir=config/ephemeral-containers
	go run ./hack/policies

.PHONY: policies
policies: agent helper ## Generate the admission policies, with the digests of helper and agent as they are built.
	go run ./hack/policies -helpers bin

.PHONY: policies-release
policies-release: agent helper ## Do the same after a release, PREVIOUS (its tag): its commands become those of the release before.
	git show $(PREVIOUS):config/policies/commands.json >bin/previous-commands.json
	go run ./hack/policies -helpers bin -previous bin/previous-commands.json

.PHONY: generate
generate: manifests ## Generate all: manifests, deepcopy, apply configurations, the state diagram and the API reference.
	$(TOOL) controller-gen object applyconfiguration paths=./apis/v1alpha1
	go run ./hack/docs

.PHONY: verify
verify: ## Fail if what is generated, formatted or tidied is not committed, or a linter complains.
	@hack/verify

.PHONY: lint
lint: ## Run the linters.
	$(LINT) run --allow-serial-runners

##@ Deploy

.PHONY: install
install: ## Install the CRDs into the cluster of the current context.
	$(TOOL) kustomize build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every exporter (make undeploy detaches the agents first).
	$(TOOL) kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: ## Deploy the operator to the cluster of the current context.
	$(TOOL) kustomize build config/default | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: ## Take the exporters out, then the operator.
	@hack/undeploy

.PHONY: build-installer
build-installer: ## Write dist/install.yaml: CRDs, RBAC and operator in one file.
	@mkdir -p dist
	$(TOOL) kustomize build config/default >dist/install.yaml
	@echo dist/install.yaml
