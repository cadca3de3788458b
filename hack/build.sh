# Builds the binaries of this project from Go modules, without a container registry. Sourced.
#
# Each group is a separate module under hack/tools, because their requirements conflict.
# Its go.mod pins the versions. A result is cached under a name with the hash of its inputs.
# shellcheck source=hack/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# binary_is NAME: sets folder (the module) and package (its main package).
binary_is() {
  case $1 in
    kubeadm | kubelet | kubectl | kube-*) folder=hack/tools/kubernetes package=k8s.io/kubernetes/cmd/$1 ;;
    containerd | containerd-shim-runc-v2 | ctr) folder=hack/tools/containerd package=github.com/containerd/containerd/v2/cmd/$1 ;;
    bridge | loopback) folder=hack/tools/cni package=github.com/containernetworking/plugins/plugins/main/$1 ;;
    portmap) folder=hack/tools/cni package=github.com/containernetworking/plugins/plugins/meta/$1 ;;
    host-local) folder=hack/tools/cni package=github.com/containernetworking/plugins/plugins/ipam/$1 ;;
    etcd) folder=hack/tools/etcd package=go.etcd.io/etcd/server/v3 ;;
    kind) folder=hack/tools/kind package=sigs.k8s.io/kind ;;
    prometheus) folder=hack/tools/prometheus package=github.com/prometheus/prometheus/cmd/prometheus ;;
    alertmanager) folder=hack/tools/alertmanager package=github.com/prometheus/alertmanager/cmd/alertmanager ;;
    image) folder=hack/offline/image package=. ;;
    buildkitd | buildctl) folder=hack/tools/buildkit package=github.com/moby/buildkit/cmd/$1 ;;
    crane) folder=hack/release package=github.com/google/go-containerregistry/cmd/crane ;;
    cosign) folder=hack/release package=github.com/sigstore/cosign/v3/cmd/cosign ;;
    cyclonedx-gomod) folder=hack/release package=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod ;;
    govulncheck) folder=hack/release package=golang.org/x/vuln/cmd/govulncheck ;;
    sbom) folder=hack/release package=./sbom ;;
    pause) folder=hack/offline/pause package=. ;;
    runc-lean) folder=hack/offline/runc-lean package=. ;;
    *) fail "no binary is called $1" ;;
  esac
}

# path_of NAME: prints the path of the built binary.
path_of() {
  local folder package
  binary_is "$1"
  echo "$cache/bin/${folder##*/}-$({ cat "$repo/$folder"/{go.mod,*.sum,*.go,*/*.go}; declare -f compile; } | sha256sum | cut -c1-12)/$1"
}

# build NAME...: builds the binaries that are missing.
build() {
  local name file
  for name; do
    file=$(path_of "$name")
    [ -x "$file" ] || step "building $name" compile "$name" "$file"
  done
}
compile() (
  binary_is "$1"
  cd "$repo/$folder"
  ldflags='-s -w' tags=()
  case $folder in
    # Components without version information refuse each other.
    *kubernetes)
      version=$(module_version k8s.io/kubernetes) minor=${version#v1.}
      for v in gitVersion="$version" gitMajor=1 gitMinor="${minor%%.*}"; do ldflags+=" -X k8s.io/component-base/version.$v"; done ;;
    # Includes only the service discovery for Kubernetes: the others take most of the compile time.
    *prometheus) tags=(-tags 'netgo,remove_all_sd,enable_kubernetes_sd') ;;
  esac
  mkdir -p "${2%/*}"
  CGO_ENABLED=0 go build "${tags[@]}" -ldflags "$ldflags" -o "$2.part" "$package"
  mv "$2.part" "$2"
)

# module_version PATH: run it in the folder of a module that requires PATH.
module_version() { go list -m -f '{{.Version}}' "$1"; }
