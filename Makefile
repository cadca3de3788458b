# make help lists the targets. Everything that they need beyond Go, a JDK 17 and
# a JDK 25, Maven and Linux, they bring themselves.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=hack/tools/go.mod
LINT := go tool -modfile=hack/tools/lint/go.mod golangci-lint
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
IMG ?= jmx-exporter-operator:dev
KUBECTL ?= kubectl

.PHONY: help
help: ## Show this.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

include hack/demo/demo.mk
include hack/try/try.mk

##@ Tests

.PHONY: test
test: ## Run all tests, and print one summary.
	@hack/test

.PHONY: test-unit
test-unit: ## Run the unit tests, those of pkg/jvm and pkg/attach on real JVMs.
	@hack/test unit

.PHONY: test-integration
test-integration: ## Run the operator's controllers against a real etcd and kube-apiserver.
	@hack/test integration

.PHONY: test-agent
test-agent: ## Run the agent's tests on JDK 17 and 25.
	@hack/test agent

.PHONY: test-e2e
test-e2e: ## Run the whole on a real kind cluster with real JVMs.
	@hack/test e2e

##@ Build

.PHONY: build
build: ## Build the operator, bin/manager.
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X banzaicloud.com/jmx-exporter-operator/internal/version.Version=$(VERSION)" -o bin/manager ./cmd/manager

.PHONY: agent
agent: ## Build the agent's jars, bin/agent.
	@agent/build

.PHONY: docker-build
docker-build: ## Build the operator's image with a container engine (make images needs none).
	docker build --build-arg VERSION=$(VERSION) -t $(IMG) .

include hack/images.mk
include hack/kind/kind.mk

##@ Generate and verify

.PHONY: generate
generate: ## Generate deepcopy, CRDs, apply configurations, RBAC, the state diagram and the API reference.
	$(TOOL) controller-gen object crd paths=./apis/v1alpha1 output:crd:dir=config/crd/bases
	$(TOOL) controller-gen applyconfiguration paths=./apis/v1alpha1
	$(TOOL) controller-gen rbac:roleName=jmx-exporter-operator paths=./internal/controller/... output:rbac:dir=config/rbac
	go run ./hack/docs

.PHONY: verify
verify: ## Fail if what is generated, formatted or tidied is not committed, or a linter complains.
	@hack/verify

.PHONY: lint
lint: ## Run the linters.
	$(LINT) run

##@ Deploy

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
