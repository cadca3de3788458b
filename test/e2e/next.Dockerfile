# The operator that comes after the one under test: see hack/images.
FROM jmx-exporter-operator:dev
COPY exporter.jar /agent/
COPY jmx-attach-amd64 jmx-attach-arm64 /helpers/
ARG TARGETARCH
COPY jmx-attach-$TARGETARCH /jmx-attach
COPY manager /
