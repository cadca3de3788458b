# Recipes for images from files of this machine, without an engine. Sourced, by offline.sh.
# A recipe calls: image NAME OPTION... (see image/main.go)

archive_of() { echo "$cache/images/${1/:/-}.tar"; }

# image NAME OPTION...: writes the archive and, next to it, the image's digest.
image() {
  local name=$1 archive
  archive=$(archive_of "$1")
  shift
  mkdir -p "${archive%/*}"
  "$(path_of image)" -o "$archive.part" -name "$name" "$@" >"$archive.id.part"
  mv "$archive.part" "$archive"
  mv "$archive.id.part" "$archive.id"
}

recipe() {
  case $1 in
    jmx-exporter-operator:dev) operator "$1" ;;
    jmx-exporter-operator:next) next_operator "$1" ;;
    dummyapp:17) dummyapp "$1" 17 with-shell ;;
    dummyapp:25) dummyapp "$1" 25 with-shell ;;
    dummyapp:17-jdk) dummyapp_with_jdk "$1" 17 ;;
    dummyapp:17-noshell) dummyapp "$1" 17 without-shell ;;
    dummyapp:17-stock)
      local stock
      stock=$("$repo/agent/stock")
      dummyapp "$1" 17 with-shell -layer "$stock=/app/jmx_prometheus_javaagent.jar,$repo/test/apps/dummyapp/jmx-exporter-config.yaml=/app/jmx-exporter-config.yaml" ;;
    dummyapp:17-linked) dummyapp_linked "$1" 17 ;;
    dummyapp:8 | dummyapp:11 | dummyapp:21 | dummyapp:26 | dummyapp:27 | dummyapp:28) dummyapp_of_package "$1" "${1#*:}" ;;
    pause:dev | prometheus:dev | prometheus-operator:dev | prometheus-config-reloader:dev) binary_alone "$1" "${1%:*}" ;;
    *) example "$1" ;;
  esac
}

binary_alone() { # IMAGE, NAME
  build "$2"
  image "$1" -user 65532:65532 -entrypoint "/bin/$2" -layer "$(path_of "$2")=/bin/$2"
}

# The operator with the files that it sends to containers: the helper for both architectures, the agent's jars.
operator() {
  step "building the operator, the helper and the agent" build_operator
  operator_image "$1" "$repo/bin" "$repo/bin/agent/exporter.jar"
}
operator_image() { # NAME, FOLDER OF manager AND HELPERS, exporter.jar
  image "$1" -user 65532:65532 -entrypoint /manager \
    -layer "$repo/LICENSE=/licenses/LICENSE,$repo/NOTICE=/licenses/NOTICE,$repo/LICENSES=/licenses/modules" \
    -layer "$repo/bin/agent/agent.jar=/agent/agent.jar,$3=/agent/exporter.jar" \
    -layer "$2/jmx-attach-amd64=/helpers/jmx-attach-amd64,$2/jmx-attach-arm64=/helpers/jmx-attach-arm64,$2/jmx-attach-$(go env GOARCH)=/jmx-attach" \
    -layer "$2/manager=/manager"
}

next_operator() {
  step "building the next operator" build_next_operator
  operator_image "$1" "$repo/bin/next" "$repo/bin/next/exporter.jar"
}

build_operator() (
  cd "$repo"
  agent/build
  hack/helper-build
  make --no-print-directory build
  go_run ./hack/policies -helpers bin # the deployed policies must accept the image's contents
)

# A typical Java application: a runtime, the C library, optionally a shell, its jar.
dummyapp() { # NAME, JAVA VERSION, with-shell or without-shell, MORE OPTIONS...
  need_runtime "$2"
  need_skeleton
  step "building dummyapp" "$repo/test/apps/build"
  local shell=()
  [ "$3" = without-shell ] || shell=(-layer "$(shell)")
  local binaries=("$runtime"/bin/java "$runtime"/lib/*.so "$runtime"/lib/server/*.so)
  # The shell's libraries are in the layer of Java's: a file in two layers would only increase the size.
  [ "$3" = without-shell ] || binaries+=($(type -P "${shell_tools[@]}"))
  image "$1" -user 1000:1000 -env JAVA_HOME=/opt/java -env PATH=/opt/java/bin:/usr/local/bin:/usr/bin:/bin \
    -layer "$skeleton=/" -layer "$(libraries "${binaries[@]}")" "${shell[@]}" -layer "$runtime=/opt/java" -layer "$repo/bin/apps/dummyapp/dummyapp.jar=/app/dummyapp.jar" "${@:4}" \
    -entrypoint /opt/java/bin/java -entrypoint -jar -entrypoint /app/dummyapp.jar
}

# The same with the requirements of the operator's predecessor: jps, jdk.attach, tar.
dummyapp_with_jdk() { # NAME, JAVA VERSION
  local java_modules=$java_modules,jdk.jcmd,jdk.attach shell_tools=("${shell_tools[@]}" tar)
  dummyapp "$1" "$2" with-shell
}

# The same with two additional runtimes, each of which lacks a module that the agent needs.
dummyapp_linked() { # NAME, JAVA VERSION
  local runtime
  java_modules=java.management need_runtime "$2"
  local without_instrument=$runtime
  java_modules=java.instrument need_runtime "$2"
  dummyapp "$1" "$2" with-shell -layer "$without_instrument=/jre/without-instrument,$runtime=/jre/without-management"
}

# The same on a runtime of hack/jvms, which includes its own C library and must be at the path that it was built for.
dummyapp_of_package() { # NAME, JAVA VERSION
  local home=/mnt/$2 runtime
  runtime=$("$repo/hack/jvms" path "$2")
  need_skeleton
  step "building dummyapp" "$repo/test/apps/build"
  image "$1" -user 1000:1000 -env JAVA_HOME="$home" -env PATH="$home/bin:/usr/local/bin:/usr/bin:/bin" \
    -layer "$skeleton=/" -layer "$(libraries $(type -P "${shell_tools[@]}"))" -layer "$(shell)" -layer "$runtime=$home" -layer "$repo/bin/apps/dummyapp/dummyapp.jar=/app/dummyapp.jar" \
    -entrypoint "$home/bin/java" -entrypoint -jar -entrypoint /app/dummyapp.jar
}

# need_skeleton: sets skeleton to a folder with the contents of every root file system: users and /tmp.
need_skeleton() {
  skeleton=$cache/images/skeleton
  mkdir -p "$skeleton"/{etc,home/app,tmp}
  chmod 1777 "$skeleton/tmp"
  printf 'root:x:0:0:root:/:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n' >"$skeleton/etc/passwd"
  printf 'root:x:0:\napp:x:1000:\n' >"$skeleton/etc/group"
}
