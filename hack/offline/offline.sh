# The one entry to this folder, which makes what engine and registry would bring: see README.md. Sourced, after build.sh.
for part in engine sweep rootfs node-image java recipes examples; do . "$repo/hack/offline/$part.sh"; done

# offline: reports whether to make them here: no engine answers but ours, or no registry does, or root is restricted.
# Asking for a manifest tells within seconds whether a registry can be reached; a pull may hang.
offline() {
  [ -n "${is_offline:-}" ] || if needs_offline; then is_offline=yes; else is_offline=no; fi
  [ "$is_offline" = yes ]
}
needs_offline() {
  [ -n "${JMX_OFFLINE:-}" ] || restricted || our_engine || ! answers || ! registry
}
# registry: reports whether kind's node image can be had.
registry() {
  local image
  image=$(kind_node_image)
  docker image inspect "$image" || timeout 15 docker manifest inspect "$image"
} >/dev/null 2>&1

kind_source() { (cd "$repo/hack/tools/kind" && go mod download && go list -m -f '{{.Dir}}' sigs.k8s.io/kind); }
# kind_node_image: the one that this version of kind was made for.
kind_node_image() { sed -n 's/^const Image = "\(.*\)"/\1/p' "$(kind_source)/pkg/apis/config/defaults/image.go"; }

# restricted: root here lacks CAP_SYS_RESOURCE (bit 24), which privileged containers ask for.
restricted() { (((16#$(sed -n 's/^CapBnd:\t//p' /proc/self/status) >> 24 & 1) == 0)); }

# use_engine: takes the engine that is there already.
use_engine() { our_engine || answers; }
answers() { timeout 10 docker info >/dev/null 2>&1; }
