# The parts of the emulated machine's memory image: archives that the kernel unpacks one after the other. Sourced, after
# lib.sh and apt.sh. Each is cached under a name with the hash of its inputs, as the builds of hack/build.sh are.
suite=sid
# What the hostile suite runs in its containers. apt adds the libraries, and libstdc++6 is that of the JVMs.
tools=(base-files bash busybox-static coreutils dash findutils grep libc-bin libstdc++6 mawk mount procps sed util-linux)
# The kernels by the size of their pages. Debian has none with 64 KiB.
declare -A kernels=([4]=linux-image-arm64 [16]=linux-image-arm64-16k)
majors=(8 11 17 21 25 26 27 28)

parts=$cache/arm64/$(cat "$repo"/hack/arm64/parts.sh "$repo/hack/apt.sh" | sha256sum | cut -c1-12)

# fetch_packages FOLDER COMMAND PACKAGE...: by apt-get download, or with dependencies by apt-get install.
fetch_packages() (
  mkdir -p "$1"
  cd "$1"
  case $2 in
    download) apt download "${@:3}" ;;
    install)
      apt install --download-only --no-install-recommends -y "${@:3}"
      mv "$work"/cache/archives/*.deb . ;;
  esac
)

fetch_all() {
  configure_apt "$suite" arm64
  fetch_packages "$work/debs/tools" install "${tools[@]}"
  local major pages kernel
  for major in "${majors[@]}"; do fetch_packages "$work/debs/java-$major" download "openjdk-$major-jre-headless"; done
  for pages in "${!kernels[@]}"; do
    kernel=$(kernel_of "${kernels[$pages]}")
    [ -n "$kernel" ] || fail "${kernels[$pages]} depends on no kernel in $suite: see kernel_of in hack/arm64/parts.sh."
    fetch_packages "$work/debs/kernel-$pages" download "$kernel"
  done
}
# kernel_of PACKAGE: prints the package with the kernel's file, which this one depends on, and which is named after a version.
kernel_of() {
  APT_CONFIG=$work/apt.conf apt-cache depends --recurse --important "$1" | awk '/^linux-(image|binary)-[0-9]/ { last = $1 } END { print last }'
}

# archive FOLDER FILE: what the kernel unpacks.
archive() { (cd "$1" && find . | LC_ALL=C sort | cpio --quiet --create --format=newc --owner=0:0 --reproducible) >"$2"; }

unpack() { # NAME
  local root=$work/root/$1 deb
  mkdir -p "$root"
  for deb in "$work/debs/$1"/*.deb; do dpkg -x "$deb" "$root"; done
  case $1 in
    kernel-*) mv "$root"/{boot/vmlinuz-*,usr/lib/modules/*/vmlinuz} "$parts.part/$1" ;;
    *)
      # Nobody reads these there, and all of it is in the machine's memory.
      rm -rf "$root"/usr/{share/{doc,man,locale,info,bug,lintian,zoneinfo},lib/jvm/*/{docs,legal,man},lib/jvm/*/lib/server/classes_*.jsa}
      [ "$1" != tools ] || finish_tools "$root"
      archive "$root" "$parts.part/$1" ;;
  esac
  rm -rf "$root"
}
# What packages do while they are installed.
finish_tools() { # ROOT
  ln -s mawk "$1/usr/bin/awk"
  ln -sf busybox "$1/usr/bin/ip"
  printf '%s\n' root:x:0:0::/root:/bin/sh app:x:1000:1000::/:/bin/sh nobody:x:65534:65534::/:/bin/sh >"$1/etc/passwd"
  printf '%s\n' root:x:0: app:x:1000: nogroup:x:65534: >"$1/etc/group"
  mkdir -p "$1"/{proc,sys,dev,tmp,mnt,root,run}
}

assemble() {
  local name
  rm -rf "$parts.part"
  mkdir -p "$parts.part"
  for name in "$work"/debs/*; do unpack "${name##*/}"; done
  (cd "$work/debs" && sha256sum -- */*.deb) >"$parts.part/packages"
  mv "$parts.part" "$parts"
}

need_parts() {
  [ ! -d "$parts" ] || return 0
  local lock
  exec {lock}>"$cache/arm64.lock"
  flock "$lock"
  [ ! -d "$parts" ] || return 0
  work=$cache/tmp/arm64
  rm -rf "$work"
  mkdir -p "${parts%/*}"
  step "fetching Debian $suite for arm64 with Java ${majors[*]}, about 420 MB" fetch_all
  step "unpacking it" assemble
  rm -rf "$work"
  exec {lock}>&-
}
