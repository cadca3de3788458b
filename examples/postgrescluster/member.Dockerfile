# Built from the repository's root: the engine is part of the module.
FROM golang:1.26.10 AS build
WORKDIR /src
COPY . .
RUN cd examples/postgrescluster && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /member ./cmd/member

FROM debian:bookworm-slim
# The user's number is that of the pods; the package takes the user that is there.
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid 999 --home-dir /var/lib/postgresql postgres && \
    mkdir -p /etc/postgresql-common && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf && \
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/*
COPY --from=build /member /member
USER 999:999
ENTRYPOINT ["/member"]
