#!/usr/bin/env bash
# Asserts that "cluster down" leaves nothing: no process, mount, network link, cgroup or packet filter rule that did
# not exist before "up". Also twice in a row, and after the engine crashed.
# It deletes the cluster KIND_CLUSTER, and requires that no other containers start or stop during the test.
. "$(dirname "$0")/../build.sh"
. "$repo/hack/offline/offline.sh"
cluster=$repo/hack/cluster

# Everything that the engine starts is in another PID namespace. So may be processes of others, which have neither
# an engine's name nor our cgroup. The engine's starter is in our PID namespace. A process whose command line only
# contains our file names, such as an editor, does not count.
processes() {
  local own p
  own=$(readlink /proc/self/ns/pid)
  for p in /proc/[0-9]*; do
    if [ "$(readlink "$p/ns/pid" 2>/dev/null || echo "$own")" != "$own" ] && {
      grep -qsE "docker|containerd|runc" "$p/comm" || grep -qs "$engine_cgroup" "$p/cgroup"
    }; then
      echo "process ${p#/proc/} $(cat "$p/comm" 2>/dev/null || true)"
    fi
  done
  pgrep -fa "^(unshare --pid .*|bash )$repo/hack/offline/engine-init |^[^ ]*(dockerd|containerd[^ ]*|docker-proxy|runc) .*$engine_run" |
    sed 's/^/process /' || true
}
mounts() { awk '{print "mount " $5}' /proc/self/mountinfo; }
links() { ip -o link | awk -F': ' '{print "link " $2}'; }
# Only top-level cgroups, and those with the name of a container engine or kubelet: the host's services and sessions
# create others at any time.
cgroups() {
  local top='[^/]+/[^/]+' # in the hierarchies of cgroup v1
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then top='[^/]+'; fi
  { find /sys/fs/cgroup -type d 2>/dev/null || true; } | # some may be removed during the search
    grep -E "^/sys/fs/cgroup/$top$|$engine_cgroup|docker|containerd|kube" | sed 's/^/cgroup /'
}
rules() {
  local table
  for table in filter nat mangle raw; do { iptables -t $table -S 2>/dev/null || true; } | sed "s/^/rule in $table: /"; done
}
everything() { { processes; mounts; links; cgroups; rules; } | sort; }

# The kernel removes some objects with a delay.
nothing_is_left() { # AFTER WHAT
  local left until=$((SECONDS + 10))
  left=$(left_over)
  while [ -n "$left" ] && ((SECONDS < until)); do
    sleep 0.2
    left=$(left_over)
  done
  [ -z "$left" ] || fail "left after $1:" "$left"
  [ ! -e "$engine_run" ] || fail "left after $1: $engine_run"
  say "ok: nothing is left after $1"
}
left_over() { comm -13 "$cache/tmp/before" <(everything); }
crash_engine() {
  local pid
  pid=$(pgrep -x dockerd -P "$(pgrep -P "$(cat "$engine_run/pid")")")
  kill -9 "$pid"
}

# freeze_one: freezes a container of the node, as its runc does briefly: frozen processes cannot be killed (cgroup v1).
freeze_one() {
  local freezer=/sys/fs/cgroup/freezer/$engine_cgroup state tries=100
  [ -d "$freezer" ] || { say "there is no freezer of cgroup v1: that part is left out"; return; }
  while ((tries-- > 0)); do
    # The node's pods and their cgroups come and go during the search.
    for state in $(find "$freezer" -path '*kubepods*cri-containerd*' -name freezer.state 2>/dev/null || true); do
      if { echo FROZEN >"$state"; } 2>/dev/null; then return; fi
    done
    sleep 0.2
  done
  fail "no container of the node could be frozen"
}
holds_nothing() {
  local held
  held=$(find "/proc/$(cat "$engine_run/pid")/fd" -type l -printf '%f %l\n' | awk '$1 > 2' | grep -v anon_inode || true)
  [ -z "$held" ] || fail "the engine holds what its starter had open:" "$held"
}

"$cluster" down
everything >"$cache/tmp/before"

"$cluster" up
ours=
if our_engine; then
  ours=yes
  holds_nothing
  freeze_one
fi
"$cluster" down
nothing_is_left "up and down"
"$cluster" down
nothing_is_left "a second down"

if [ -n "$ours" ]; then
  "$cluster" up
  crash_engine
  "$cluster" down
  nothing_is_left "a crash of the engine and down"

  "$cluster" up
  crash_engine
  "$cluster" up
  say "ok: the cluster comes up again after a crash of the engine"
  "$cluster" down
  nothing_is_left "a crash of the engine, up and down"
else
  say "the engine is not ours to crash: that part is left out"
fi
