# Where the tools are, and from which folder the image is built: those of this repository. What
# make new-operator writes has its own (hack/newoperator/outside).

ROOT := ../..
tool = go tool -modfile=$(ROOT)/hack/tools/go.mod $(1)
ASSETS = $(ROOT)/hack/binaries assets
CONTEXT := $(ROOT)

.PHONY: context
context:
