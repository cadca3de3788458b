# Builds the binaries that tests and demo run from Go modules, without a container registry. Sourced.
#
# Each group is a separate module under hack/tools, because their requirements conflict.
# Its go.mod pins the versions. A result is cached under a name with the hash of its inputs. With KUBERNETES=1.37, the
# binaries of Kubernetes are those of another minor version: see kubernetes.sh.
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
    helm) folder=hack/tools/helm package=helm.sh/helm/v4/cmd/helm ;;
    prometheus | promtool) folder=hack/tools/prometheus package=github.com/prometheus/prometheus/cmd/$1 ;;
    prometheus-operator) folder=hack/tools/prometheus-operator package=github.com/prometheus-operator/prometheus-operator/cmd/operator ;;
    prometheus-config-reloader) folder=hack/tools/prometheus-operator package=github.com/prometheus-operator/prometheus-operator/cmd/$1 ;;
    vmagent) folder=hack/tools/vmagent package=github.com/VictoriaMetrics/VictoriaMetrics/app/vmagent ;;
    otelcol) folder=hack/tools/otelcol package=. ;;
    alertmanager) folder=hack/tools/alertmanager package=github.com/prometheus/alertmanager/cmd/alertmanager ;;
    krew | validate-krew-manifest) folder=hack/tools/krew package=sigs.k8s.io/krew/cmd/$1 ;;
    image) folder=hack/offline/image package=. ;;
    buildkitd | buildctl) folder=hack/tools/buildkit package=github.com/moby/buildkit/cmd/$1 ;;
    crane) folder=hack/release package=github.com/google/go-containerregistry/cmd/crane ;;
    cosign) folder=hack/release package=github.com/sigstore/cosign/v3/cmd/cosign ;;
    cyclonedx-gomod) folder=hack/release package=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod ;;
    govulncheck) folder=hack/release package=golang.org/x/vuln/cmd/govulncheck ;;
    indexdb) folder=hack/tools/vulndb package=golang.org/x/vulndb/cmd/indexdb ;;
    sbom) folder=hack/release package=./sbom ;;
    pause) folder=hack/offline/pause package=. ;;
    runc-lean) folder=hack/offline/runc-lean package=. ;;
    *) fail "no binary is called $1" ;;
  esac
}

# path_of NAME: prints the path of the binary.
path_of() {
  local folder package
  binary_is "$1"
  if other_kubernetes "$folder"; then echo "$cache/bin/$(kubernetes_folder)/$1"; return; fi
  echo "$cache/bin/${folder##*/}-$({ cat "$repo/$folder"/{go.mod,*.sum,*.go,*/*.go}; declare -f compile; } | sha256sum | cut -c1-12)/$1"
}

# build NAME...: builds the binaries that are missing. Those of one module share a build, in which one is linked while
# another is compiled: except those that are not called like their package, as the build would call them.
build() {
  local name missing=()
  for name; do [ -x "$(path_of "$name")" ] || missing+=("$name"); done
  while [ ${#missing[@]} -gt 0 ]; do
    local together=() others=() first
    first=$(build_of "${missing[0]}")
    for name in "${missing[@]}"; do
      if [ "$(build_of "$name")" = "$first" ]; then together+=("$name"); else others+=("$name"); fi
    done
    if other_kubernetes "$first"; then
      step "building ${together[*]} of Kubernetes $kubernetes (minutes)" compile_kubernetes "${together[@]}"
    else
      step "building ${together[*]}" compile "${together[@]}"
    fi
    missing=("${others[@]}")
  done
}
build_of() { # NAME: prints what the binaries of one build have in common
  local folder package
  binary_is "$1"
  if [ "${package##*/}" = "$1" ]; then echo "$folder"; else echo "$folder $1"; fi
}
compile() ( # NAME OF ONE MODULE...
  out=$(path_of "$1") out=${out%/*} packages=()
  for name; do
    binary_is "$name"
    packages+=("$package")
  done
  cd "$repo/$folder"
  # Nobody debugs these: without debugging information they are compiled in seven eighths of the time.
  ldflags='-s -w' flags=(-gcflags 'all=-dwarf=false')
  case $folder in
    # Components without version information refuse each other.
    *kubernetes)
      version=$(module_version k8s.io/kubernetes) minor=${version#v1.}
      for v in gitVersion="$version" gitMajor=1 gitMinor="${minor%%.*}"; do ldflags+=" -X k8s.io/component-base/version.$v"; done
      # Nor inlined: Kubernetes is compiled more often than it is busy.
      flags+=(-gcflags 'k8s.io/...=-dwarf=false -l') ;;
    # Includes only the service discovery for Kubernetes: the others take most of the compile time.
    *prometheus) flags+=(-tags 'netgo,remove_all_sd,enable_kubernetes_sd') ;;
  esac
  part=$out/part
  rm -rf "$part"
  mkdir -p "$part"
  # A package is not always called like its binary, but then it is the only one of its module.
  to=$part/
  [ $# -gt 1 ] || to=$part/$1
  CGO_ENABLED=0 go build "${flags[@]}" -ldflags "$ldflags" -o "$to" "${packages[@]}"
  mv "$part"/* "$out/"
  rmdir "$part"
)

# module_version PATH: run it in the folder of a module that requires PATH.
module_version() { go list -m -f '{{.Version}}' "$1"; }

# shellcheck source=hack/kubernetes.sh
. "$repo/hack/kubernetes.sh"
