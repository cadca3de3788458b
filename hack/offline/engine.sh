# A container engine of our own. Sourced, by offline.sh.
#
# Ours is Debian's dockerd in a pid and a mount namespace. The first process in there ends as soon as dockerd ends,
# crashed or not; the kernel then ends everything that dockerd started and drops its mounts. Only what lies outside
# of those namespaces can be left over: links, iptables rules, cgroups. They bear our name; see sweep.sh.
. "$repo/hack/packages.sh"
engine_data=$cache/engine                                   # images and containers: kept
engine_run=${JMX_ENGINE_RUN:-/run/jmx-exporter-operator}    # socket, pid, logs: gone with the engine
engine_socket=unix://$engine_run/docker.sock
engine_cgroup=jmx-exporter-operator
engine_bridge=jmx-kind
engine_started= # whether this run did

# our_engine: takes ours if it runs.
our_engine() { [ -S "$engine_run/docker.sock" ] && DOCKER_HOST=$engine_socket answers && export DOCKER_HOST=$engine_socket; }

# need_engine: takes the one that is there, and starts ours if there is none.
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

# runc_into FOLDER: a runc that works here.
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
  # No docker0: kind's own network is enough, and it is ours to name.
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
  # kind takes a network of this name as it finds it. Ours has a bridge with a name that we can find again.
  docker network inspect kind >/dev/null 2>&1 ||
    docker network create -d bridge -o com.docker.network.bridge.name=$engine_bridge -o com.docker.network.bridge.enable_ip_masquerade=true kind
}

# close_inherited: the engine outlives who started it, and must hold nobody's lock, nor a pipe whose reader waits for
# its end.
close_inherited() {
  local fd
  for fd in "/proc/$BASHPID/fd"/*; do fd=${fd##*/}; ((fd <= 2)) || eval "exec $fd>&-"; done
}

# wake_engine: after a crash ours still has the cluster on its books; only it can strike it out.
wake_engine() {
  if [ -d "$engine_run" ] && ! our_engine; then step "starting the engine again" start_engine_or_forget; fi
}
# end_engine: if ours runs.
end_engine() {
  [ -d "$engine_run" ] || return 0
  step "stopping the engine" stop_engine
  sweep
}
# start_engine_or_forget: for taking away, an engine that does not start has only to be forgotten, with all it held.
start_engine_or_forget() {
  start_engine && return
  stop_engine
  rm -rf "$engine_data"
}

# stop_engine: ends ours, whatever state it is in.
stop_engine() {
  local pid init
  pid=$(cat "$engine_run/pid" 2>/dev/null) || return 0
  if runs_engine "$pid"; then
    init=$(ps -o pid= --ppid "$pid" | tr -d ' ' || true) # it may be gone by now
    kill ${init:+"$init"} || true # engine-init: lets dockerd end in order
    local tries=150
    while kill -0 "$pid" 2>/dev/null && ((tries-- > 0)); do thaw; sleep 0.2; done
    ! runs_engine "$pid" || kill -9 "$pid" || true # or it ended between the two
    while kill -0 "$pid" 2>/dev/null; do thaw; sleep 0.1; done
  fi
}
# thaw: lets what our engine runs end. A node's runc freezes a container's cgroup for a moment while it sets it up;
# that a node which is killed meanwhile leaves frozen, and with cgroup v1 what is frozen cannot be killed.
thaw() {
  local state
  for state in $(find "/sys/fs/cgroup/freezer/$engine_cgroup" -name freezer.state 2>/dev/null || true); do
    echo THAWED >"$state" || true # it may be gone by now
  done 2>/dev/null
}
# runs_engine PID: a pid may have been given to another process since.
runs_engine() { grep -qz engine-init "/proc/$1/cmdline" 2>/dev/null; }
