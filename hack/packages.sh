# Installs Debian packages where this is Debian and the user is root. Sourced, after lib.sh.

debian_root() { [ "$(id -u)" = 0 ] && [ -r /etc/os-release ] && [ "$(. /etc/os-release && echo "$ID")" = debian ]; }

# packages PACKAGE:COMMAND...: installs those whose command is missing.
packages() {
  local want=() p
  for p; do command -v "${p#*:}" >/dev/null || want+=("${p%:*}"); done
  [ ${#want[@]} = 0 ] || step "installing ${want[*]}" apt_install "${want[@]}"
}
apt_install() {
  # Debian starts a service when it installs it. This engine is to be started and stopped by us.
  local policy=/usr/sbin/policy-rc.d ours=
  [ -e $policy ] || { ours=yes; printf '#!/bin/sh\nexit 101\n' >$policy; chmod +x $policy; }
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" || { [ -z "$ours" ] || rm $policy; return 1; }
  [ -z "$ours" ] || rm $policy
}
