#!/usr/bin/env bash
# Asserts that "cluster down" leaves nothing: no process, mount, network link, cgroup or packet filter rule that was
# not there before "up". Also twice in a row, and after the engine crashed.
# It takes down the cluster of this name (KIND_CLUSTER), and wants no other containers to come and go meanwhile.
. "$(dirname "$0")/../build.sh"
. "$repo/hack/offline/offline.sh"
cluster=$repo/hack/cluster

# Whatever the engine starts lives in another pid namespace than we do; so may what others start, which has neither
# an engine's name nor our cgroup. Outside there is who started it. A command line that only names our files, such as
# an editor's, is nothing of it.
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
# Those at the top, and those with a container engine's or a kubelet's name: into others the host's own services and
# sessions put new ones at any time.
cgroups() {
  local top='[^/]+/[^/]+' # in the hierarchies of cgroup v1
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then top='[^/]+'; fi
  { find /sys/fs/cgroup -type d 2>/dev/null || true; } | # some may end while it looks
    grep -E "^/sys/fs/cgroup/$top$|$engine_cgroup|docker|containerd|kube" | sed 's/^/cgroup /'
}
rules() {
  local table
  for table in filter nat mangle raw; do { iptables -t $table -S 2>/dev/null || true; } | sed "s/^/rule in $table: /"; done
}
everything() { { processes; mounts; links; cgroups; rules; } | sort; }

# The kernel takes some of it away a moment later than it says.
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

# freeze_one: freezes a container of the node, as its runc does for a moment: what is frozen cannot be killed (cgroup v1).
freeze_one() {
  local freezer=/sys/fs/cgroup/freezer/$engine_cgroup state tries=100
  [ -d "$freezer" ] || { say "there is no freezer of cgroup v1: that part is left out"; return; }
  while ((tries-- > 0)); do
    # The node's pods come and go meanwhile, and their cgroups with them.
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
