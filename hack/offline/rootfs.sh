# The node's root file system: Debian with systemd and the network tools that kind's scripts call. Sourced.

# need_rootfs: sets rootfs, a tar file.
need_rootfs() {
  rootfs=$cache/rootfs-$(hash_of "$repo/hack/offline/rootfs.sh").tar
  [ -f "$rootfs" ] || {
    packages debootstrap:debootstrap
    step "making the node's root file system from Debian packages" make_rootfs
  }
}
make_rootfs() {
  local root=$cache/tmp/rootfs
  rm -rf "$root"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,iptables,nftables,conntrack,iproute2,ethtool,socat,mount,util-linux,jq,kmod,procps,hostname,curl,libseccomp2,ca-certificates \
    bookworm "$root"
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/*
  tar -C "$root" -cf "$rootfs.part" .
  mv "$rootfs.part" "$rootfs"
  rm -rf "$root"
}
