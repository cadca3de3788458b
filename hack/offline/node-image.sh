# A node image of the same shape as kind's own, from packages and modules. Sourced, by offline.sh.
node_binaries=(kubeadm kubelet kubectl kube-apiserver kube-controller-manager kube-scheduler kube-proxy
  containerd containerd-shim-runc-v2 ctr bridge loopback portmap host-local etcd pause runc-lean kind)

# offline_node_image: sets node_image to one that the engine holds, and makes it if need be.
offline_node_image() {
  node_image=jmx-exporter-node:$(node_image_hash)
  ! docker image inspect "$node_image" >/dev/null 2>&1 || return 0
  debian_root || fail "The node image $(kind_node_image) cannot be pulled." \
    "Give another by KIND_NODE_IMAGE, or run this on Debian as root, where it makes one from packages and modules."
  say "no registry to pull a node image from: making one from packages and modules (about ten minutes the first time)"
  packages runc:runc
  # Packages are waited for, while binaries are compiled.
  local fetching
  (trap after_step EXIT; need_rootfs) &
  fetching=$!
  build "${node_binaries[@]}" image
  wait $fetching
  need_rootfs
  step "putting the node image together" make_node_image "$node_image"
  # Those made before take a gigabyte each; one that a cluster uses stays.
  docker image ls --format '{{.Repository}}:{{.Tag}}' jmx-exporter-node | grep -vxF "$node_image" | xargs -r docker image rm >/dev/null 2>&1 || true
}

# The image changes with the binaries, the root file system, how it is put together, and for whom.
node_image_hash() {
  {
    for b in "${node_binaries[@]}"; do path_of "$b"; done | sed "s#$cache##"
    hash_of "$repo/hack/offline/rootfs.sh" "$repo/hack/offline/node-image.sh" "$repo/hack/offline/node-files"
    ! restricted || echo restricted
  } | sha256sum | cut -c1-12
}

make_node_image() {
  local r=$cache/tmp/node files
  rm -rf "$r"
  mkdir -p "$r"
  tar -C "$r" -xf "$rootfs"

  # kind's own scripts and units, as its base image has them.
  files=$(kind_source)/images/base/files
  cp -r "$files/kind" "$files/etc" "$files/usr" "$r/"
  chmod -R u+w "$r/kind" "$r/etc" "$r/usr/local"
  chmod 755 "$r"/usr/local/bin/* "$r"/kind/bin/*

  mkdir -p "$r"/{opt/cni/bin,usr/local/sbin,kind/manifests,etc/kubernetes/manifests}
  put "$r/usr/bin" kubeadm kubelet kubectl
  put "$r/usr/local/bin" containerd containerd-shim-runc-v2 ctr
  put "$r/opt/cni/bin" bridge loopback portmap host-local
  runc_into "$r/usr/local/sbin"
  cp -r "$repo/hack/offline/node-files/." "$r/"
  kubernetes_version >"$r/kind/version"

  # Root without CAP_SYS_RESOURCE can neither lower an OOM score nor raise a limit.
  sed -i '/OOMScoreAdjust/d; /^Limit/d' "$r/etc/systemd/system/containerd.service"
  sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' "$r/etc/containerd/config.toml"
  sed -i 's#^KUBELET_EXTRA_ARGS=#&--config-dir=/etc/kubernetes/kubelet.conf.d #' "$r/etc/default/kubelet"

  # Only the units that a node needs, as in kind's Dockerfile.
  rm -f "$r"/lib/systemd/system/{multi-user,local-fs,basic}.target.wants/* "$r"/etc/systemd/system/*.wants/* \
    "$r"/lib/systemd/system/sockets.target.wants/*{udev,initctl}*
  echo ReadKMsg=no >>"$r/etc/systemd/journald.conf"
  chroot "$r" systemctl enable kubelet containerd undo-mount-hacks
  chroot "$r" systemctl mask systemd-binfmt
  "$(path_of ctr)" oci spec | chroot "$r" jq '.hooks.createContainer += [{"path": "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' >"$cache/tmp/cri-base.json"
  mv "$cache/tmp/cri-base.json" "$r/etc/containerd/cri-base.json"

  preload "$r"
  tar -C "$r" -c . | docker import --change 'ENTRYPOINT ["/usr/local/bin/entrypoint","/sbin/init"]' --change 'ENV container=docker' - "$1"
  rm -rf "$r"
}

# put FOLDER BINARY...
put() {
  local folder=$1 b
  shift
  for b; do install "$(path_of "$b")" "$folder/$b"; done
}

# preload ROOT: the images of the control plane, made of its binaries, into the node's containerd.
preload() {
  local r=$1 work=$cache/tmp/preload name component
  rm -rf "$work"
  mkdir -p "$work" "$r/var/lib/containerd"
  # containerd runs here, for a moment, on the node's folder, and ends with this script whatever ends that.
  printf 'version = 3\ndisabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.nri.v1.nri"]\n' >"$work/config.toml"
  setpriv --pdeathsig KILL "$(path_of containerd)" --config "$work/config.toml" --root "$r/var/lib/containerd" --state "$work/state" --address "$work/containerd.sock" \
    >"$work/log" 2>&1 9>&- {progress}>&- &
  local containerd=$!
  until "$(path_of ctr)" -a "$work/containerd.sock" version >/dev/null 2>&1; do
    kill -0 $containerd || { cat "$work/log"; return 1; }
    sleep 0.1
  done
  while read -r name; do
    component=${name##*/} component=${component%%:*}
    case $component in
      coredns) continue ;; # nothing of ours needs DNS in the cluster
      pause) set -- -entrypoint /pause -layer "$(path_of pause)=/pause" ;;
      kube-proxy) set -- -layer "$(proxy_files "$r"),$(path_of kube-proxy)=/usr/local/bin/kube-proxy" ;;
      *) set -- -layer "$(path_of "$component")=/usr/local/bin/$component" ;;
    esac
    "$(path_of image)" -o "$work/image.tar" -name "$name" "$@"
    "$(path_of ctr)" -a "$work/containerd.sock" -n k8s.io images import --no-unpack "$work/image.tar"
  done < <(
    "$(path_of kubeadm)" config images list --kubernetes-version "$(cat "$r/kind/version")" 2>/dev/null
    sed -n 's/^ *sandbox_image = "\(.*\)"/\1/p; s/^ *sandbox = "\(.*\)"/\1/p' "$r/etc/containerd/config.toml" # the one for pod sandboxes
  )
  kill $containerd
  wait $containerd || true
  rm -rf "$work"
}

# proxy_files ROOT: kube-proxy calls iptables and nft; these are they, with their libraries and those of
# iptables' extensions (statistic, for a Service with several endpoints, needs libm), as the layer's parts.
proxy_files() {
  local r=$1 lib file
  lib=$(cd "$r/usr/lib" && echo *-linux-gnu)
  local files=(/usr/sbin/{iptables,iptables-save,iptables-restore,ip6tables,ip6tables-save,ip6tables-restore,nft})
  for file in "${files[@]}" $(chroot "$r" sh -c "ldd /usr/sbin/xtables-nft-multi /usr/sbin/nft /usr/lib/$lib/xtables/*.so" | grep -v '^/' | grep -o '/[^ :]*' | grep '\.so' | sort -u); do
    printf '%s=%s,' "$r$(chroot "$r" readlink -f "$file")" "$file"
  done
  printf '%s=%s' "$r/usr/lib/$lib/xtables" "/usr/lib/$lib/xtables"
}
