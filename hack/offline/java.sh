# A Java runtime, the C library and a shell for images, from this machine. Sourced.

# java_home VERSION: prints the home of a JDK of that version with jlink.
java_home() {
  local v=$1 home
  for home in "$(printenv "JAVA_HOME_$v" "JAVA_HOME_${v}_X64" "JAVA_HOME_${v}_arm64" | head -n 1 || true)" "${JAVA_HOME:-}" /usr/lib/jvm/*/; do
    [ -n "$home" ] && [ -x "$home/bin/jlink" ] && grep -q "^JAVA_VERSION=\"${v}[.\"]" "$home/release" 2>/dev/null && readlink -f "$home" && return
  done
  fail "No JDK $v is here." "Install one (on Debian: openjdk-$v-jdk-headless or temurin-$v-jdk), or set JAVA_HOME_$v."
}

# need_runtime VERSION: sets runtime to a folder with a typical runtime of images: no compiler, no jps, no jdk.attach.
java_modules=java.se,jdk.httpserver,jdk.management,jdk.management.agent,jdk.unsupported,jdk.crypto.ec,jdk.zipfs
need_runtime() {
  local home
  home=$(java_home "$1")
  runtime=$cache/java/$1-$({ cat "$home/release"; echo "$java_modules"; } | sha256sum | cut -c1-12)
  [ -d "$runtime" ] || step "linking a Java $1 runtime" link_runtime "$home"
}
link_runtime() {
  rm -rf "$runtime.part"
  mkdir -p "${runtime%/*}"
  "$1/bin/jlink" --add-modules "$java_modules" --strip-debug --no-header-files --no-man-pages --output "$runtime.part"
  rm -rf "$runtime.part/legal"
  mv "$runtime.part" "$runtime"
}

# libraries FILE...: prints the shared libraries that the files need, at their paths on this machine, as parts of a layer.
libraries() {
  local file parts=()
  for file in $(ldd "$@" 2>/dev/null | grep -o '/[^ :]*\.so[^ :]*' | grep -v "^$cache/" | sort -u || true); do parts+=("$file=$file"); done
  join "${parts[@]}"
}

# shell: prints sh and the tools of a small image, as parts of a layer, without libraries.
shell_tools=(sh cat chmod chown cp date dd df du env expr grep head id ln ls mkdir mktemp mv nohup nsenter printf pwd rm rmdir setpriv sha256sum sleep sort stat sync tail test timeout touch tr true uname wc)
shell() {
  local tool parts=()
  for tool in "${shell_tools[@]}"; do parts+=("$(type -P "$tool")=/bin/$tool"); done
  join "${parts[@]}"
}

join() { local IFS=,; echo "$*"; }
