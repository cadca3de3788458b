# Functions shared by the scripts under hack/. Sourced, never run.
set -euo pipefail
[ "$(uname)" = Linux ] && [ "${BASH_VERSINFO[0]}" -ge 5 ] || { echo "This needs Linux and bash 5: for images with a C library in them, and for the engine." >&2; exit 1; }
shopt -s inherit_errexit nullglob

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/jmx-exporter-operator
mkdir -p "$cache/tmp"

# Progress goes to the original stderr, even inside a step whose output goes to a file.
exec {progress}>&2
say() { printf '%(%H:%M:%S)T %s\n' -1 "$*" >&"$progress"; }
fail() {
  printf '%s\n' "$@" >&"$progress"
  exit 1
}
# A failed command may print nothing, so its location is always printed.
set -E
trap 'say "failed with status $?: ${BASH_SOURCE[0]#"$repo/"}:$LINENO: $BASH_COMMAND"' ERR

# step TITLE COMMAND...: prints the title, repeats it every half minute while the command runs, and prints its duration.
# The command's output is printed only if it fails; the script then exits.
step() {
  local title=$1 start=$SECONDS
  shift
  step_title=$title step_log=$(mktemp "$cache/tmp/log.XXXXXX")
  say "$title ..."
  still_going "$title" "$start" &
  step_beat=$!
  "$@" >"$step_log" 2>&1
  kill "$step_beat" 2>/dev/null || true
  rm -f "$step_log"
  step_title='' step_log='' step_beat=''
  say "$title: $((SECONDS - start)) s"
}
still_going() {
  trap - EXIT
  local never
  exec {never}<> <(:) # reading from it waits without leaving a child process behind
  while ! read -rt 30 -u "$never" && kill -0 $$ 2>/dev/null; do say "$1: $((SECONDS - $2)) s so far"; done
}
step_title='' step_log='' step_beat=''
after_step() {
  local status=$?
  [ -z "$step_beat" ] || kill "$step_beat" 2>/dev/null || true
  [ -n "$step_log" ] || return 0
  [ "$status" = 0 ] || { tail -n 40 "$step_log" >&"$progress"; say "failed: $step_title"; }
  rm -f "$step_log"
}
trap after_step EXIT

# hash_of FILE|FOLDER...: 12 characters that change when the content does.
hash_of() { find "$@" -type f -print0 | sort -z | xargs -0 sha256sum | sed "s#$repo/##" | sha256sum | cut -c1-12; }

# alone COMMAND...: holds a lock, because two concurrent runs would build the same files.
# The lock file must stay open in this process only: background processes must close it (9>&-).
alone() {
  exec 9>"$cache/lock"
  flock -n 9 || { say "waiting for another run of these scripts to finish"; flock 9; }
  "$@"
}

# go_run PACKAGE...: go run that shares what is compiled with builds and tests, also with those of other checkouts.
go_run() { CGO_ENABLED=0 go run -trimpath "$@"; }
