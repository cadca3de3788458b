# Builds kube-apiserver of each minor version of Kubernetes that the operator supports. Sourced, after build.sh.

# minors: prints the versions, the oldest first.
minors() { sed '/^#/d' "$repo/hack/tools/kubernetes/minors"; }

# version_of MINOR: prints the version that is tested of a minor version such as 1.30.
version_of() {
  local version
  version=$(minors | grep -F -- "$1.") || fail "hack/tools/kubernetes/minors has no version of Kubernetes $1."
  echo "$version"
}

# apiserver_of VERSION: prints the path of its kube-apiserver.
apiserver_of() {
  echo "$cache/bin/kubernetes-$1-$(declare -f compile_apiserver kubernetes_module | sha256sum | cut -c1-12)/kube-apiserver"
}

# build_apiserver VERSION: builds it, if it is missing.
build_apiserver() {
  [ -x "$(apiserver_of "$1")" ] || step "building kube-apiserver $1 (minutes)" compile_apiserver "$1"
}
compile_apiserver() ( # VERSION
  out=$(apiserver_of "$1") part=${out%/*}.part minor=${1#1.}
  rm -rf "$part"
  mkdir -p "$part"
  cd "$part"
  kubernetes_module "$1"
  # As all binaries of Kubernetes here: see compile in build.sh.
  ldflags='-s -w'
  for v in gitVersion="v$1" gitMajor=1 gitMinor="${minor%%.*}"; do ldflags+=" -X k8s.io/component-base/version.$v"; done
  CGO_ENABLED=0 GOWORK=off go build -mod=mod -gcflags 'all=-dwarf=false' -gcflags 'k8s.io/...=-dwarf=false -l' -ldflags "$ldflags" \
    -o kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
  rm go.mod go.sum
  mv "$part" "${out%/*}"
)

# kubernetes_module VERSION: writes the go.mod of a module that requires it. The go.mod of k8s.io/kubernetes pins all others,
# but for the version of those in its own repository; Go's checksum database pins their content.
kubernetes_module() {
  local its
  its=$(go mod download -json "k8s.io/kubernetes@v$1" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  {
    echo "module kubernetes"
    sed -n '/^go /p' "$its"
    echo "require k8s.io/kubernetes v$1"
    sed -nE "s#^\s*(k8s.io/\S+) => ./staging/.*#replace \1 => \1 v0.${1#1.}#p" "$its"
  } >go.mod
}
