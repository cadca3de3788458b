# Compares the layers of the Dockerfile's last stage, built by BuildKit, with those of the release. Sourced, by test.sh.

buildkit=
start_buildkit() {
  local i
  ! debian_root || packages runc:runc
  build buildkitd buildctl
  as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  "${as_root[@]}" "$(path_of buildkitd)" --root "$work/buildkit" --addr "unix://$work/buildkit.sock" --group "$(id -g)" \
    --containerd-worker=false --oci-worker-snapshotter=native >"$work/buildkit.log" 2>&1 &
  buildkit=$!
  for ((i = 0; i < 300; i++)); do
    ! tool buildctl --addr "unix://$work/buildkit.sock" debug workers >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  fail "BuildKit did not start:" "$(cat "$work/buildkit.log")"
}
stop_buildkit() {
  [ -n "$buildkit" ] || return 0
  kill "$buildkit" 2>/dev/null || true # it may have exited
  wait "$buildkit" || true
  "${as_root[@]}" rm -rf "$work/buildkit"
}

# by_dockerfile ARCH: the digests of the layers, uncompressed. The files of the other stages are taken from the release,
# because their base images are in a registry.
by_dockerfile() {
  local stages=$work/stages-$1 layout=$work/layout-$1 arch manifest
  mkdir -p "$stages"/go/out/helper/helpers "$stages"/go/out/licenses "$stages"/java/src/bin/agent
  cp LICENSE NOTICE "$stages/go/out/licenses/"
  cp -r LICENSES "$stages/go/out/licenses/modules"
  for arch in amd64 arm64; do cp "bin/jmx-attach-$arch" "$stages/go/out/helper/helpers/"; done
  cp "bin/jmx-attach-$1" "$stages/go/out/helper/jmx-attach"
  cp "$out/$1/manager" "$stages/go/out/"
  cp bin/agent/{agent,exporter}.jar "$stages/java/src/bin/agent/"
  tool buildctl --addr "unix://$work/buildkit.sock" build --progress plain --frontend dockerfile.v0 --local dockerfile=. --local context="$stages" \
    --opt context:go=local:go --local go="$stages/go" --opt context:java=local:java --local java="$stages/java" \
    --opt platform="linux/$1" --opt build-arg:SOURCE_DATE_EPOCH=0 --output "type=oci,tar=false,dest=$layout,rewrite-timestamp=true" >&2
  blob() { echo "$layout/blobs/${1/://}"; }
  manifest=$(blob "$(jq -r '.manifests[0].digest' "$layout/index.json")")
  jq -c .rootfs.diff_ids "$(blob "$(jq -r .config.digest "$manifest")")"
}
by_release() { # ARCH
  tar -xOf "$out/$1.tar" "$(tar -xOf "$out/$1.tar" manifest.json | jq -r '.[0].Config')" | jq -c .rootfs.diff_ids
}
same_layers() { # ARCH
  local dockerfile release
  dockerfile=$(by_dockerfile "$1") release=$(by_release "$1")
  echo "Dockerfile: $dockerfile, release: $release"
  [ -n "$dockerfile" ] && [ "$dockerfile" = "$release" ]
}
