# Starts and stops our own container engine. Sourced, by offline.sh.
#
# It is Debian's dockerd in a PID and a mount namespace. The first process in the namespace exits when dockerd does,
# normally or by a crash; the kernel then kills everything that dockerd started and drops its mounts. Only objects
# outside of those namespaces can remain: links, iptables rules, cgroups. They have names of ours; see sweep.sh.
. "$repo/hack/packages.sh"
engine_data=$cache/engine                                   # images and containers: kept
engine_run=${JMX_ENGINE_RUN:-/run/jmx-exporter-operator}    # socket, PID, logs: deleted with the engine
engine_socket=unix://$engine_run/docker.sock
engine_cgroup=jmx-exporter-operator
engine_bridge=jmx-kind
engine_started= # whether this run started it

# our_engine: uses our engine if it runs.
our_engine() { [ -S "$engine_run/docker.sock" ] && DOCKER_HOST=$engine_socket answers && export DOCKER_HOST=$engine_socket; }

# need_engine: uses the existing engine, or starts ours if there is none.
need_engine() {
  use_engine && return
  debian_root || fail "No container engine answers." \
    "Install Docker and start it (https://docs.docker.com/engine/install/), or set DOCKER_HOST to one that runs." \
    "On Debian, as root, this script installs and starts one itself."
  packages docker.io:dockerd docker.io:docker runc:runc iptables:iptables iproute2:ip
  build runc-lean
  step "starting the engine" start_engine
  engine_started=yes
  export DOCKER_HOST=$engine_socket
}

# runc_into FOLDER: installs a runc that works on this machine.
runc_into() {
  mkdir -p "$1"
  if restricted; then
    install "$(command -v runc)" "$1/runc.real"
    install "$(path_of runc-lean)" "$1/runc"
  else
    install "$(command -v runc)" "$1/runc"
  fi
}

start_engine() {
  # A crash may have left something.
  stop_engine
  sweep
  mkdir -p "$engine_run" "$engine_data"
  remember
  runc_into "$engine_run/bin"
  # No docker0: kind's network suffices, and we choose its bridge's name.
  (
    close_inherited
    exec setsid unshare --pid --fork --kill-child --mount --mount-proc bash "$repo/hack/offline/engine-init" \
      --host "$engine_socket" --pidfile "$engine_run/dockerd.pid" --exec-root "$engine_run/exec" --data-root "$engine_data" \
      --bridge none --cgroup-parent "/$engine_cgroup" --add-runtime "lean=$engine_run/bin/runc" --default-runtime lean
  ) >"$engine_run/dockerd.log" 2>&1 </dev/null &
  echo $! >"$engine_run/pid"
  local tries=300
  until our_engine; do
    ((tries-- > 0)) && kill -0 "$(cat "$engine_run/pid")" || { cat "$engine_run/dockerd.log"; return 1; }
    sleep 0.2
  done
  # kind uses an existing network of this name as it is. Its bridge has a name that sweep.sh finds.
  docker network inspect kind >/dev/null 2>&1 ||
    docker network create -d bridge -o com.docker.network.bridge.name=$engine_bridge -o com.docker.network.bridge.enable_ip_masquerade=true kind
}

# close_inherited: the engine outlives its starter, so it must not hold a lock, nor a pipe whose reader waits for
# its end.
close_inherited() {
  local fd
  for fd in "/proc/$BASHPID/fd"/*; do fd=${fd##*/}; ((fd <= 2)) || eval "exec $fd>&-"; done
}

# wake_engine: after a crash, only our engine itself can delete the cluster that it has recorded.
wake_engine() {
  if [ -d "$engine_run" ] && ! our_engine; then step "starting the engine again" start_engine_or_forget; fi
}
# end_engine: stops our engine if it runs.
end_engine() {
  [ -d "$engine_run" ] || return 0
  step "stopping the engine" stop_engine
  sweep
}
# start_engine_or_forget: for "down", an engine that does not start is deleted with all of its data.
start_engine_or_forget() {
  start_engine && return
  stop_engine
  rm -rf "$engine_data"
}

# stop_engine: stops our engine in any state.
stop_engine() {
  local pid init
  pid=$(cat "$engine_run/pid" 2>/dev/null) || return 0
  if runs_engine "$pid"; then
    init=$(ps -o pid= --ppid "$pid" | tr -d ' ' || true) # it may have exited
    kill ${init:+"$init"} || true # engine-init: stops dockerd properly
    local tries=150
    while kill -0 "$pid" 2>/dev/null && ((tries-- > 0)); do thaw; sleep 0.2; done
    ! runs_engine "$pid" || kill -9 "$pid" || true # it may have exited in between
    while kill -0 "$pid" 2>/dev/null; do thaw; sleep 0.1; done
  fi
}
# thaw: lets the engine's processes exit. A node's runc freezes a container's cgroup briefly during its setup; a node
# killed during that time leaves it frozen, and with cgroup v1, frozen processes cannot be killed.
thaw() {
  local state
  for state in $(find "/sys/fs/cgroup/freezer/$engine_cgroup" -name freezer.state 2>/dev/null || true); do
    echo THAWED >"$state" || true # it may have been removed
  done 2>/dev/null
}
# runs_engine PID: checks that the PID was not reused by another process.
runs_engine() { grep -qz engine-init "/proc/$1/cmdline" 2>/dev/null; }
