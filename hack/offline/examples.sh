# The images of the examples, each like its Dockerfile. Sourced.

example() {
  case $1 in
    postgrescluster-operator:dev | pulsarconsumer-operator:dev)
      step "building $1" make --no-print-directory -C "$repo/examples/${1%-operator:dev}" build
      image "$1" -user 65532:65532 -entrypoint /manager -layer "$repo/examples/${1%-operator:dev}/bin/manager=/manager" ;;
    postgrescluster-member:dev) postgrescluster_member "$1" ;;
    pulsar-consumer:dev)
      local app=$repo/examples/pulsarconsumer/app
      step "building $1" build_pulsar_consumer "$app"
      image "$1" -user 65532:65532 -entrypoint /pulsar-consumer \
        -layer "/etc/ssl/certs/ca-certificates.crt=/etc/ssl/certs/ca-certificates.crt" -layer "$app/bin=/" ;;
    pulsar-broker:dev) pulsar_broker "$1" ;;
  esac
}

# PostgreSQL as in Debian's package, without LLVM, and sh, which initdb and pg_rewind need.
postgrescluster_member() { # NAME
  packages postgresql-15:/usr/lib/postgresql/15/bin/postgres
  step "building $1" make --no-print-directory -C "$repo/examples/postgrescluster" build
  local home=/usr/lib/postgresql/15 tree=$cache/images/postgrescluster-member file binaries=()
  rm -rf "$tree"
  mkdir -p "$tree/lib" "$tree/root/etc" "$tree/root/tmp"
  chmod 1777 "$tree/root/tmp"
  printf 'root:x:0:0:root:/:/bin/sh\npostgres:x:999:999:postgres:/var/lib/postgresql:/bin/sh\n' >"$tree/root/etc/passwd"
  printf 'root:x:0:\npostgres:x:999:\n' >"$tree/root/etc/group"
  for file in "$home"/lib/*.so*; do
    [[ $file == */llvmjit* ]] || { cp -a "$file" "$tree/lib/"; binaries+=("$file"); }
  done
  binaries+=("$home"/bin/* $(type -P "${shell_tools[@]}"))
  image "$1" -user 999:999 -env "PATH=$home/bin:/usr/bin:/bin" -entrypoint /member \
    -layer "$tree/root=/" -layer "$(libraries "${binaries[@]}")" -layer "$(shell)" \
    -layer "$home/bin=$home/bin,$tree/lib=$home/lib,/usr/share/postgresql/15=/usr/share/postgresql/15,/usr/share/zoneinfo=/usr/share/zoneinfo,/usr/lib/locale/C.utf8=/usr/lib/locale/C.utf8" \
    -layer "$repo/examples/postgrescluster/bin/member=/member"
}

build_pulsar_consumer() ( # FOLDER
  cd "$1"
  CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/ ./cmd/...
)

# A broker from Maven with a full JDK 17, with the paths of apachepulsar/pulsar. RocksDB extracts its native library from
# a jar when it starts; it is extracted here to determine the shared libraries that it needs.
pulsar_broker() { # NAME
  local jars java_modules=ALL-MODULE-PATH runtime unpacked=$cache/images/pulsar-broker
  jars=$("$repo/examples/pulsarconsumer/app/broker/fetch")
  jars=${jars%%$'\n'*}
  need_runtime 17
  need_skeleton
  rm -rf "$unpacked"
  mkdir -p "$unpacked"
  (cd "$unpacked" && "$(java_home 17)/bin/jar" --extract --file "$jars"/rocksdbjni-*.jar "librocksdbjni-linux64.so" "librocksdbjni-linux-aarch64.so")
  local rocksdb=$unpacked/librocksdbjni-linux64.so
  [ "$(go env GOARCH)" = amd64 ] || rocksdb=$unpacked/librocksdbjni-linux-aarch64.so
  image "$1" -user 10000:0 -env JAVA_HOME=/opt/jvm -env PATH=/opt/jvm/bin:/usr/bin:/bin -entrypoint java \
    -layer "$skeleton=/" -layer "$(libraries "$runtime"/bin/java "$runtime"/lib/*.so "$runtime"/lib/server/*.so "$rocksdb" $(type -P "${shell_tools[@]}"))" \
    -layer "$(shell)" -layer "$runtime=/opt/jvm" -layer "$jars=/pulsar/lib"
}
