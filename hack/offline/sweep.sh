# Removes what our engine cannot remove after its exit or crash. Sourced.

# remember: saves the state before our engine changes it.
remember() {
  [ -e "$engine_run/before" ] || {
    sysctl -n net.ipv4.ip_forward
    iptables -S FORWARD | sed -n 's/^-P FORWARD //p'
  } >"$engine_run/before"
}

# sweep: removes everything of ours outside of the engine's namespaces. Without leftovers, it does nothing.
sweep() {
  [ -d "$engine_run" ] || return 0
  ip link delete "$engine_bridge" 2>/dev/null || true
  sweep_rules
  sweep_cgroups
  rm -rf "$engine_run"
}

# Our cgroups are removed from the leaves upwards, in each hierarchy of cgroup v1. A process that has just exited may
# still be in one.
sweep_cgroups() {
  local tries=50
  while [ -n "$(find /sys/fs/cgroup -type d -path "*/$engine_cgroup*" -print -quit 2>/dev/null || true)" ] && ((tries-- > 0)); do
    find /sys/fs/cgroup -depth -type d -path "*/$engine_cgroup*" -exec rmdir {} + 2>/dev/null || sleep 0.2
  done
}

sweep_rules() {
  local iptables table rule pattern="$engine_bridge" forward policy
  # The chains that every dockerd creates are removed only if no other dockerd shares them.
  other_dockerd || pattern="$engine_bridge|DOCKER"
  for iptables in iptables ip6tables; do
    for table in filter nat mangle raw; do
      $iptables -t $table -S 2>/dev/null | grep -E -- "^-A .*($pattern)" | sed 's/^-A/-D/' |
        while read -r rule; do eval "$iptables -t $table $rule"; done || true
      [[ $pattern == *DOCKER ]] || continue
      $iptables -t $table -S 2>/dev/null | sed -n 's/^-N \(DOCKER.*\)/\1/p' |
        while read -r rule; do $iptables -t $table -X "$rule"; done || true
    done
  done
  [ -s "$engine_run/before" ] && [[ $pattern == *DOCKER ]] || return 0
  { read -r forward && read -r policy; } <"$engine_run/before"
  iptables -P FORWARD "$policy"
  sysctl -qw net.ipv4.ip_forward="$forward"
}
other_dockerd() {
  local pid
  for pid in $(pgrep -x dockerd || true); do [ ! "/proc/$pid/ns/net" -ef /proc/self/ns/net ] || return 0; done
  return 1
}
