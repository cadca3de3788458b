# What goes into each image. Sourced. A recipe calls: image NAME OPTION... (see hack/image/main.go)
image_names=(jmx-exporter-operator:dev dummyapp:17 dummyapp:25 dummyapp:17-noshell pause:dev prometheus:dev)

recipe() {
  case $1 in
    jmx-exporter-operator:dev) operator "$1" ;;
    dummyapp:17) dummyapp "$1" 17 with-shell ;;
    dummyapp:25) dummyapp "$1" 25 with-shell ;;
    dummyapp:17-noshell) dummyapp "$1" 17 without-shell ;;
    pause:dev)
      build pause
      image "$1" -user 65532:65532 -entrypoint /pause -layer "$(path_of pause)=/pause" ;;
    prometheus:dev)
      build prometheus
      image "$1" -user 65532:65532 -entrypoint /prometheus -layer "$(path_of prometheus)=/prometheus" ;;
    *) fail "no image is called $1; there are: ${image_names[*]}" ;;
  esac
}

# The operator and what it brings into containers: the helper for both architectures, the agent's jars.
operator() {
  step "building the operator, the helper and the agent" build_operator
  local bin=$repo/bin
  image "$1" -user 65532:65532 -entrypoint /manager \
    -layer "$bin/agent/agent.jar=/agent/agent.jar,$bin/agent/exporter.jar=/agent/exporter.jar" \
    -layer "$bin/jmx-attach-amd64=/helpers/jmx-attach-amd64,$bin/jmx-attach-arm64=/helpers/jmx-attach-arm64" \
    -layer "$bin/manager=/manager"
}

build_operator() (
  cd "$repo"
  agent/build
  hack/helper-build
  make --no-print-directory build
)

# A Java application as people deploy it: a runtime, the C library, perhaps a shell, its jar.
dummyapp() { # NAME, JAVA VERSION, with-shell or without-shell
  need_runtime "$2"
  need_skeleton
  step "building dummyapp" "$repo/test/apps/build"
  local shell=()
  [ "$3" = without-shell ] || shell=(-layer "$(shell)")
  local binaries=("$runtime"/bin/java "$runtime"/lib/*.so "$runtime"/lib/server/*.so)
  # The shell's libraries go in with Java's: two layers with the same file would only be larger.
  [ "$3" = without-shell ] || binaries+=($(type -P "${shell_tools[@]}"))
  image "$1" -user 1000:1000 -env JAVA_HOME=/opt/java -env PATH=/opt/java/bin:/usr/local/bin:/usr/bin:/bin \
    -layer "$skeleton=/" -layer "$(libraries "${binaries[@]}")" "${shell[@]}" -layer "$runtime=/opt/java" -layer "$repo/bin/apps/dummyapp/dummyapp.jar=/app/dummyapp.jar" \
    -entrypoint /opt/java/bin/java -entrypoint -jar -entrypoint /app/dummyapp.jar
}

# need_skeleton: sets skeleton to a folder with what every root file system has: users and /tmp.
need_skeleton() {
  skeleton=$cache/images/skeleton
  mkdir -p "$skeleton"/{etc,home/app,tmp}
  chmod 1777 "$skeleton/tmp"
  printf 'root:x:0:0:root:/:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n' >"$skeleton/etc/passwd"
  printf 'root:x:0:\napp:x:1000:\n' >"$skeleton/etc/group"
}
