# make help lists the targets. Everything that they need beyond Go, gcc, a JDK 17
# and a JDK 25, Maven and Linux, they bring themselves.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=hack/tools/go.mod
LINT := go tool -modfile=hack/tools/lint/go.mod golangci-lint
# What is released is compiled by this version of Go, whichever is installed.
TOOLCHAIN := $(shell sed -n 's/^toolchain //p' go.mod)
# With these, all that is run or linted shares what is compiled with what is built and tested, also between checkouts.
SHARED := CGO_ENABLED=0 GOFLAGS=-trimpath
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)
IMG ?= jmx-exporter-operator:dev
MANAGER ?= bin/manager
PLUGIN ?= bin/kubectl-jmx
PREVIOUS ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
KUBECTL ?= kubectl
OVERLAY ?= default

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Try it

.PHONY: demo
demo: ## Run the demo on a kind cluster (CLUSTER=existing: in the current context).
	@CLUSTER='$(CLUSTER)' hack/demo/demo up

.PHONY: demo-down
demo-down: ## Delete the demo, its cluster, and everything that they started.
	@CLUSTER='$(CLUSTER)' hack/demo/demo down

.PHONY: try
try: ## Start a JVM on this host, attach, scrape and detach it, in seconds, without a cluster.
	@hack/try

##@ Tests

.PHONY: test
test: ## Run the tests that every change has to pass (hack/test SUITE... runs single suites).
	@hack/test

.PHONY: test-all
test-all: ## Run all tests, also those that take too long for every change.
	@hack/test --all

.PHONY: test-faults
test-faults: ## Crash the operator, cut its streams, refuse its writes and replace its pods, at each effect; prints a table.
	@hack/test --all faults

.PHONY: test-mutants
test-mutants: ## Break the code on purpose, rule by rule: each time a test has to turn red; prints the score.
	@hack/test --all mutants

.PHONY: test-kubernetes
test-kubernetes: ## Run what depends on the API server of the oldest and the newest Kubernetes, or of KUBERNETES=1.34.
	@hack/test kubernetes

.PHONY: test-install
test-install: ## Install, upgrade, roll back and remove the Helm chart on the cluster of cluster-up, with running JVMs.
	@$(SHARED) go test -vet=off -count=1 -timeout 1h -tags e2e -run 'TestChart$$' ./test/e2e

.PHONY: test-arm64
test-arm64: ## Run the suite hostile, with Java 8 to 28, on an emulated arm64 machine (hack/arm64/run --help).
	@hack/test --all arm64

.PHONY: vulnerabilities
vulnerabilities: ## Check the binaries for known vulnerabilities, with a pinned copy of Go's database, or that of the URL VULNDB.
	@hack/vulnerabilities $(VULNDB)

.PHONY: bench
bench: agent helper ## Benchmark attaching to 20 JVMs on the cluster of cluster-up; writes docs/performance.md (15 minutes).
	@hack/images load jmx-exporter-operator:dev dummyapp:17-jdk
	@eval "$$(hack/cluster env)"; $(SHARED) go run ./test/bench/attach -page docs/performance.md $(BENCH)

.PHONY: bench-agent
bench-agent: agent ## Benchmark the agent against the stock exporter; writes docs/performance.md (30 minutes).
	$(SHARED) go run ./test/bench/agent -stock "$$(agent/stock)" -page docs/performance.md

.PHONY: bench-fleet
bench-fleet: ## Benchmark the operator with fleets on a real API server (FLEETS=500:1,5000:1:15000: pods:exporters[:others]); writes docs/scale.md (20 minutes at most).
	@mkdir -p bin
	@export KUBEBUILDER_ASSETS; KUBEBUILDER_ASSETS=$$(hack/binaries assets); $(SHARED) go run ./test/bench/fleet $(if $(FLEETS),-sizes $(FLEETS)) -page docs/scale.md -results bin/bench-fleet.json $(BENCH)
	@cd test/bench/plots && $(SHARED) go run . -results ../../../bin/bench-fleet.json -images ../../../docs/images

##@ Build

.PHONY: build
build: ## Build the operator, bin/manager.
	GOTOOLCHAIN=$(TOOLCHAIN) CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X banzaicloud.com/jmx-exporter-operator/internal/version.Version=$(VERSION)" -o $(MANAGER) ./cmd/manager

.PHONY: kubectl-jmx
kubectl-jmx: ## Build the kubectl plugin, bin/kubectl-jmx; with bin in the PATH, it is "kubectl jmx".
	GOTOOLCHAIN=$(TOOLCHAIN) CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X banzaicloud.com/jmx-exporter-operator/internal/version.Version=$(VERSION)" -o $(PLUGIN) ./cmd/kubectl-jmx
	@install -m 0755 cmd/kubectl-jmx/kubectl_complete-jmx $(dir $(PLUGIN))

.PHONY: run
run: agent helper ## Run the operator on this host, against the current context.
	$(SHARED) go run ./cmd/manager --leader-elect=false --metrics-secure=false --metrics-bind-address=:8080 --helpers=bin --agent=bin/agent

.PHONY: helper
helper: ## Build the helper: bin/jmx-attach for this host, and those for pods (amd64, arm64).
	@hack/helper-build

.PHONY: agent
agent: ## Build the agent's jars in bin/agent.
	@agent/build

.PHONY: docker-build
docker-build: ## Build the operator's image with a container engine (hack/images needs none).
	docker build --build-arg VERSION=$(VERSION) -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the operator's image, IMG.
	docker push $(IMG)

##@ Cluster

.PHONY: cluster-up
cluster-up: ## Create the kind cluster (KUBERNETES=1.37: another one, of that version), with or without an engine and a registry.
	@hack/cluster up

.PHONY: cluster-down
cluster-down: ## Delete the kind cluster and everything that cluster-up started.
	@hack/cluster down

##@ Generate and verify

.PHONY: manifests
manifests: ## Generate CRDs, RBAC and admission policies.
	$(TOOL) controller-gen crd paths=./apis/v1alpha1 output:crd:dir=config/crd/bases
	$(TOOL) controller-gen rbac:roleName=jmx-exporter-operator paths=./internal/controller/... output:rbac:dir=config/rbac
	$(TOOL) controller-gen rbac:roleName=jmx-exporter-operator-ephemeral-containers paths=./internal/manager output:rbac:dir=config/ephemeral-containers
	$(SHARED) go run ./hack/policies

.PHONY: policies
policies: agent helper ## Generate the admission policies, with the digests of the built helper and agent.
	$(SHARED) go run ./hack/policies -helpers bin
	@hack/chart generate

.PHONY: policies-release
policies-release: agent helper ## Generate them after the release PREVIOUS (a tag), whose commands become those of the previous release.
	git show $(PREVIOUS):config/policies/commands.json >bin/previous-commands.json
	$(SHARED) go run ./hack/policies -helpers bin -previous bin/previous-commands.json
	@hack/chart generate

.PHONY: licenses
licenses: ## Collect the licenses of the Go modules that operator, helper and plugin contain: LICENSES.
	@CGO_ENABLED=0 go -C hack/licenses run -trimpath . -repo ../.. -o ../../LICENSES ./cmd/manager ./cmd/jmx-attach ./cmd/kubectl-jmx=linux,darwin,windows

.PHONY: dashboards
dashboards: ## Generate the Grafana dashboards, config/grafana.
	cd hack/dashboards && $(SHARED) go run . ../../config/grafana

.PHONY: screenshots
screenshots: ## Render the dashboards with the data of the demo that make demo started: docs/images.
	@CLUSTER='$(CLUSTER)' hack/demo/demo with hack/screenshots/render

.PHONY: generate
generate: manifests licenses dashboards ## Generate everything: manifests, chart, deepcopy, apply configurations, licenses, dashboards, state diagram and API reference.
	@hack/chart generate
	$(TOOL) controller-gen object applyconfiguration paths=./apis/v1alpha1 paths=./pkg/statemachine
	$(SHARED) go run ./hack/docs
	$(SHARED) go run ./hack/compatibility -rows

.PHONY: docs-site
docs-site: ## Build the documentation as a site, dist/site; fails on a link that leads nowhere.
	@hack/site/build

.PHONY: verify
verify: ## Fail if generated, formatted or tidied files differ, or a linter complains.
	@hack/verify

.PHONY: lint
lint: ## Run the linters.
	$(LINT) run --allow-serial-runners

##@ Deploy

.PHONY: install
install: ## Install the CRDs into the cluster of the current context.
	$(TOOL) kustomize build config/crd | $(KUBECTL) apply --server-side -f -

.PHONY: uninstall
uninstall: ## Remove the CRDs and every exporter (make undeploy detaches the agents first).
	$(TOOL) kustomize build config/crd | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: ## Deploy the operator, with the image IMG, to the cluster of the current context (OVERLAY=default-1.30: Kubernetes 1.30 to 1.35).
	hack/installer $(IMG) $(OVERLAY) | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: ## Delete the exporters, then remove the operator (OVERLAY: as for deploy).
	@KUBECTL='$(KUBECTL)' OVERLAY='$(OVERLAY)' hack/undeploy

.PHONY: build-installer
build-installer: ## Write all manifests, with the image IMG: dist/install.yaml, and dist/install-1.30.yaml for Kubernetes 1.30 to 1.35.
	@mkdir -p dist
	hack/installer $(IMG) default >dist/install.yaml
	hack/installer $(IMG) default-1.30 >dist/install-1.30.yaml

.PHONY: chart
chart: ## Package the Helm chart, with the image IMG, to dist/.
	@hack/chart package $(VERSION) $(IMG)

##@ Other operators

# What is given on the command line: NAME and others are also variables of some shells.
given = $(if $(filter command,$(origin $(1))),--$(2)='$($(1))')

.PHONY: new-operator
new-operator: ## Write an operator of your own on the engine, outside this repository (without arguments: what they are).
	@hack/new-operator $(call given,NAME,name) $(call given,GROUP,group) $(call given,MODULE,module) $(call given,DIR,dir) $(call given,VERSION,version) $(call given,ENGINE,engine) $(call given,PLURAL,plural)
