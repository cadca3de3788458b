# Tests the kubectl plugin of a release with krew itself. Sourced, by test.sh.

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
}
krew() { KREW_ROOT=${KREW_ROOT:-$work/krew} KREW_NO_UPGRADE_CHECK=1 tool krew "$@"; }
refuses_archive() { ! KREW_ROOT=$work/altered/krew krew install --manifest "$work/altered/jmx.yaml" --archive "$1" >"$work/said" 2>&1 && grep 'checksum does not match' "$work/said"; }
platforms_named() { [ "$(grep -c '^    uri: ' "$out/jmx.yaml")" = "${#plugin_platforms[@]}" ]; }
installed_version() { "$work/krew/bin/kubectl-jmx" --version | grep -F "$1"; }
