# Builds the binaries of other versions of Kubernetes than that of hack/tools/kubernetes. Sourced, by build.sh.
#
# KUBERNETES=1.37 selects the minor version of what is built: the cluster's components, its kubectl, a test's API server.

# minors: prints the versions, the oldest first.
minors() { sed '/^#/d' "$repo/hack/tools/kubernetes/minors"; }

# version_of MINOR: prints the version that is tested of a minor version such as 1.30.
version_of() {
  minors | grep -x "${1//./\\.}\.[0-9]*" || fail "hack/tools/kubernetes/minors has no version of Kubernetes $1."
}

# use_kubernetes MINOR: selects a version. Sets kubernetes to it, or to nothing if it is that of hack/tools/kubernetes.
use_kubernetes() {
  local version
  version=$(version_of "$1")
  kubernetes=
  [ "v$version" = "$(kubernetes_version)" ] || kubernetes=$version
}

# kubernetes_version: prints the selected version, such as v1.37.2.
kubernetes_version() {
  if [ -n "$kubernetes" ]; then echo "v$kubernetes"; else (cd "$repo/hack/tools/kubernetes" && module_version k8s.io/kubernetes); fi
}

# cluster_name: prints the name of the kind cluster. One of another version is a cluster of its own.
cluster_name() { echo "${KIND_CLUSTER:-jmx-exporter${KUBERNETES:+-$KUBERNETES}}"; }

# other_kubernetes FOLDER: reports whether the module is replaced by one of the selected version.
other_kubernetes() { [ "$1" = hack/tools/kubernetes ] && [ -n "$kubernetes" ]; }

# kubernetes_folder: prints the folder in the cache for binaries of the selected version.
kubernetes_folder() { echo "kubernetes-$kubernetes-$(declare -f compile_kubernetes kubernetes_module | sha256sum | cut -c1-12)"; }

compile_kubernetes() ( # NAME...
  out=$cache/bin/$(kubernetes_folder) part=$cache/bin/$(kubernetes_folder).part minor=${kubernetes#1.}
  rm -rf "$part"
  mkdir -p "$part" "$out"
  cd "$part"
  kubernetes_module
  # As all binaries of Kubernetes here: see compile in build.sh.
  ldflags='-s -w'
  for v in gitVersion="v$kubernetes" gitMajor=1 gitMinor="${minor%%.*}"; do ldflags+=" -X k8s.io/component-base/version.$v"; done
  CGO_ENABLED=0 GOWORK=off go build -mod=mod -gcflags 'all=-dwarf=false' -gcflags 'k8s.io/...=-dwarf=false -l' -ldflags "$ldflags" \
    -o bin/ "${@/#/k8s.io/kubernetes/cmd/}"
  mv bin/* "$out/"
  rm -r "$part"
)

# kubernetes_module: writes the go.mod of a module that requires the selected version. The go.mod of k8s.io/kubernetes pins all
# others, but for the version of those in its own repository; Go's checksum database pins their content.
kubernetes_module() {
  local its
  its=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  {
    echo "module kubernetes"
    sed -n '/^go /p' "$its"
    echo "require k8s.io/kubernetes v$kubernetes"
    sed -nE "s#^\s*(k8s.io/\S+) => ./staging/.*#replace \1 => \1 v0.${kubernetes#1.}#p" "$its"
  } >go.mod
}

kubernetes=
[ -z "${KUBERNETES:-}" ] || use_kubernetes "$KUBERNETES"
