# The only entry point to this folder, which replaces engine and registry: see README.md. Sourced, after build.sh.
for part in engine sweep rootfs node-image java recipes examples; do . "$repo/hack/offline/$part.sh"; done

# offline: reports whether to use this folder: only our engine answers, no registry is reachable, or root is restricted.
# Requesting a manifest shows within seconds whether a registry is reachable; a pull may hang.
offline() {
  [ -n "${is_offline:-}" ] || if needs_offline; then is_offline=yes; else is_offline=no; fi
  [ "$is_offline" = yes ]
}
needs_offline() {
  [ -n "${JMX_OFFLINE:-}" ] || restricted || our_engine || ! answers || ! registry
}
# registry: reports whether kind's node image is available.
registry() {
  local image
  image=$(kind_node_image)
  docker image inspect "$image" || timeout 15 docker manifest inspect "$image"
} >/dev/null 2>&1

kind_source() { (cd "$repo/hack/tools/kind" && go mod download && go list -m -f '{{.Dir}}' sigs.k8s.io/kind); }
# kind_node_image: prints the node image for this version of kind.
kind_node_image() { sed -n 's/^const Image = "\(.*\)"/\1/p' "$(kind_source)/pkg/apis/config/defaults/image.go"; }

# restricted: reports whether root lacks CAP_SYS_RESOURCE (bit 24), which privileged containers request.
restricted() { (((16#$(sed -n 's/^CapBnd:\t//p' /proc/self/status) >> 24 & 1) == 0)); }

# use_engine: uses the engine that already runs.
use_engine() { our_engine || answers; }
answers() { timeout 10 docker info >/dev/null 2>&1; }
