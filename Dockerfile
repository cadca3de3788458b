# The operator, and what it brings into containers. `hack/images` makes the same
# image where there is no engine.

# Go is go.mod's toolchain: the digest of the helper, which admission policies accept, depends on it. The image's own Go
# downloads that version, and checks it against Go's checksum database.
FROM --platform=$BUILDPLATFORM golang:1.26.8@sha256:6c2a5538f964f1c82f97ad14988bf05de100d922d159d0e398b54c7b0ca0c6c9 AS go
ENV GOTOOLCHAIN=go1.26.10
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY apis apis
COPY cmd cmd
COPY internal internal
COPY pkg pkg
ARG TARGETOS=linux TARGETARCH VERSION=dev
ENV CGO_ENABLED=0
COPY LICENSE NOTICE /out/licenses/
COPY LICENSES /out/licenses/modules
# The helper for both: the nodes that it runs on need not be like the operator's. Without
# a version: its digest is its identity (hack/helper-build).
RUN for arch in amd64 arm64; do \
      GOARCH=$arch go build -trimpath -buildvcs=false -ldflags="-s -w" -o /out/helper/helpers/jmx-attach-$arch ./cmd/jmx-attach || exit 1; \
    done
# And one for the ephemeral containers, which run this image.
RUN cp /out/helper/helpers/jmx-attach-$TARGETARCH /out/helper/jmx-attach
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
      -ldflags="-s -w -X banzaicloud.com/jmx-exporter-operator/internal/version.Version=$VERSION" -o /out/manager ./cmd/manager

FROM --platform=$BUILDPLATFORM maven:3.9.11-eclipse-temurin-17@sha256:e4a7ace3dc0d645ed97f8d9ad0b0d3f0b14fa8d150138f27f116d7105a639b82 AS java
WORKDIR /src/agent
COPY LICENSE NOTICE /src/
COPY agent .
RUN ./build

# Layer by layer what hack/offline/recipes.sh puts into one: the digests are compared (hack/release/test.sh).
FROM scratch
COPY --from=go /out/licenses /licenses
COPY --from=java /src/bin/agent/agent.jar /src/bin/agent/exporter.jar /agent/
COPY --from=go /out/helper /
COPY --from=go /out/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
