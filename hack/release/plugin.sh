# Builds the kubectl plugin: an archive for each platform, their bill of materials, and the manifest of the plugin for
# krew's index. Sourced, by release.
plugin_platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)

# build_plugin VERSION: writes kubectl-jmx_VERSION_OS_ARCH.tar.gz, kubectl-jmx.cdx.json and jmx.yaml. Like the image, they
# contain no time.
build_plugin() {
  local platform archive files=()
  build cyclonedx-gomod sbom
  for platform in "${plugin_platforms[@]}"; do
    step "building kubectl jmx for $platform" plugin_archive "$1" "${platform%/*}" "${platform#*/}"
    archive=$(archive_name "$1" "${platform%/*}" "${platform#*/}")
    files+=("$archive=$out/$archive:$out/plugin/${platform/\//-}.json")
  done
  tool sbom -name kubectl-jmx -version "$1" -type application -o "$out/kubectl-jmx.cdx.json" "${files[@]}"
  krew_manifest "$1" >"$out/jmx.yaml"
}

plugin_archive() { # VERSION OS ARCH
  local folder=$out/plugin/$2-$3 binary=kubectl-jmx
  [ "$2" != windows ] || binary+=.exe
  mkdir -p "$folder"
  GOOS=$2 GOARCH=$3 make --no-print-directory kubectl-jmx VERSION="$1" PLUGIN="$folder/$binary"
  GOOS=$2 GOARCH=$3 list_go "$folder/$binary" "$folder.json"
  cp -r LICENSE NOTICE LICENSES "$folder"
  tar --sort=name --mode=u=rwX,go=rX --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -C "$folder" -c . | gzip -n9 >"$out/$(archive_name "$@")"
}
archive_name() { echo "kubectl-jmx_$1_$2_$3.tar.gz"; }

# krew_manifest VERSION: prints the manifest; the archives are those of the release in SOURCE.
krew_manifest() {
  local source=${SOURCE:-https://github.com/banzaicloud/jmx-exporter-operator} platform os arch archive extension
  cat <<END
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: jmx
spec:
  version: $1
  homepage: $source
  shortDescription: See and steer the JMX exporter operator
  description: |
    The JMX exporter operator adds a Prometheus endpoint to running Java
    applications. This plugin shows which pods serve their MBeans, why others do
    not, and what to do about it; prints their metrics and what these cost;
    checks configurations; pauses, resumes and retries; and writes an archive
    for bug reports. It has no rights but those of your kubeconfig.
  caveats: |
    The cluster needs the operator: $source
    To complete names, put kubectl_complete-jmx of the archive into your PATH.
  platforms:
END
  for platform in "${plugin_platforms[@]}"; do
    os=${platform%/*} arch=${platform#*/} extension=
    [ "$os" != windows ] || extension=.exe
    archive=$(archive_name "$1" "$os" "$arch")
    cat <<END
  - selector:
      matchLabels:
        os: $os
        arch: $arch
    uri: $source/releases/download/$1/$archive
    sha256: $(sha256sum "$out/$archive" | cut -d ' ' -f 1)
    bin: kubectl-jmx$extension
END
  done
}
