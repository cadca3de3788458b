# Tests the kubectl plugin of a release with krew itself, and the signature of the files of a release. Sourced, by test.sh.

# test_plugin VERSION: checks what build_plugin wrote.
test_plugin() {
  local archive
  archive=$out/$(archive_name "$1" linux "$(go env GOARCH)")
  build krew validate-krew-manifest
  check "krew accepts the manifest of the plugin" tool validate-krew-manifest -skip-install -manifest "$out/jmx.yaml"
  check "the manifest names each platform" platforms_named
  check "krew installs the plugin" krew install --manifest "$out/jmx.yaml" --archive "$archive"
  check "the installed plugin has the version of the release" installed_version "$1"
  check "the archive has the script that completes names" grep -x ./kubectl_complete-jmx <(tar -tzf "$archive")
  mkdir -p "$work/altered"
  sed 's/^    sha256: ..../    sha256: 0000/' "$out/jmx.yaml" >"$work/altered/jmx.yaml"
  check "krew refuses another archive than that of the release" refuses_archive "$archive"
  sed '/shortDescription/d' "$out/jmx.yaml" >"$work/altered/jmx.yaml"
  check "krew refuses a manifest without a description" refuses tool validate-krew-manifest -skip-install -manifest "$work/altered/jmx.yaml"
  check "the plugin's bill of materials has the digest and the libraries of each archive" archives_listed "$1"
}

# test_files VERSION: checks what sign_files signs.
test_files() {
  local archive
  archive=$(archive_name "$1" darwin arm64)
  check "files that nobody signed are refused" refuses release verify-files
  check "the files are signed" release sign-files
  check "signature and checksums of the files are verified" release verify-files
  check "the checksums are those of each file" all_signed
  check "files of another key are refused" refuses env COSIGN_PUBLIC_KEY="$work/theirs.pub" DIST="$out" hack/release/release verify-files
  cp -r "$out" "$work/replaced"
  echo x >>"$work/replaced/$archive"
  check "an archive that took the place of ours is refused" refuses env DIST="$work/replaced" hack/release/release verify-files
  (out=$work/replaced && checksum_files)
  check "its checksum in the place of ours is refused" refuses env DIST="$work/replaced" hack/release/release verify-files
  rm -r "$work/replaced"
}
all_signed() { [ "$(cut -c67- "$out/checksums.txt")" = "$(cd "$out" && printf '%s\n' install.yaml install-1.30.yaml sbom.cdx.json kubectl-jmx.cdx.json jmx.yaml kubectl-jmx_*_{darwin,linux,windows}_{amd64,arm64}.tar.gz)" ]; }
archives_listed() { # VERSION
  local platform archive bill=kubectl-jmx.cdx.json
  for platform in "${plugin_platforms[@]}"; do
    archive=$(archive_name "$1" "${platform%/*}" "${platform#*/}")
    has_digest "$archive" "$out/$archive" && lists "$archive" pkg:golang/k8s.io/cli-runtime@ && of_platform "$archive" "$platform" || return
  done
}
krew() { KREW_ROOT=${KREW_ROOT:-$work/krew} KREW_NO_UPGRADE_CHECK=1 tool krew "$@"; }
refuses_archive() { ! KREW_ROOT=$work/altered/krew krew install --manifest "$work/altered/jmx.yaml" --archive "$1" >"$work/said" 2>&1 && grep 'checksum does not match' "$work/said"; }
platforms_named() { [ "$(grep -c '^    uri: ' "$out/jmx.yaml")" = "${#plugin_platforms[@]}" ]; }
installed_version() { "$work/krew/bin/kubectl-jmx" --version | grep -F "$1"; }
