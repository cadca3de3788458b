# Fetches Debian packages without installing them, of any suite and architecture. Sourced, after lib.sh.
# DEBIAN_MIRROR names the archive; else it is the one that apt or debootstrap use here.

mirror() {
  local mirrors
  mirrors=(${DEBIAN_MIRROR:-}
    $(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/$' || true)
    $(sed -n 's/^DEF_MIRROR="\(.*\)"$/\1/p' "$(type -P debootstrap)" 2>/dev/null || true))
  [ ${#mirrors[@]} -gt 0 ] || fail "No Debian archive is configured on this machine: name one in DEBIAN_MIRROR."
  echo "${mirrors[0]}"
}

# apt ARGUMENT...: apt-get with a configuration of its own, in the folder $work; of the machine's only how it gets at archives.
apt() { APT_CONFIG=$work/apt.conf apt-get "$@"; }

# configure_apt SUITE [ARCHITECTURE]: reads the suite's list of packages.
configure_apt() {
  local keys=(/usr/share/keyrings/debian-archive-keyring.*)
  [ ${#keys[@]} -gt 0 ] || fail "The keys of the Debian archive are missing: install debian-archive-keyring."
  mkdir -p "$work"/{state/lists/partial,cache/archives/partial,debs}
  touch "$work/status"
  apt-config dump Acquire | grep -v '^Acquire::IndexTargets' >"$work/apt.conf"
  cat >>"$work/apt.conf" <<END
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "$work/sources";
Dir::Etc::SourceParts "/dev/null";
Dir::State "$work/state";
Dir::State::Status "$work/status";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
END
  [ -z "${2:-}" ] || echo "APT::Architecture \"$2\"; APT::Architectures { \"$2\"; };" >>"$work/apt.conf"
  echo "deb [signed-by=${keys[0]}] $(mirror) $1 main" >"$work/sources"
  # An archive that does not answer is a warning for apt.
  apt update --error-on=any || fail "The Debian archive $(mirror) cannot be read; another one may be named in DEBIAN_MIRROR."
}
