package transport

import (
	"fmt"
	"path"
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// The script is a constant, and so are its arguments: names, sizes and digests of
// this operator's helpers. All that stems from a resource or a container travels on
// standard input. It is for any POSIX shell, and tools that coreutils and busybox
// both bring. It is part of a manifest (config/policies/exec.yaml), so it contains neither
// "${" nor "$$": Flux and others substitute them in manifests.

// Exit codes of the script; the helper itself exits with 0, 1 or 2. They keep
// clear of the shell's own (126, 127, 128 and more).
const (
	exitHelperMissing = 64 + iota
	exitCut
	exitNotWritable
	exitNotTrusted
	exitWriteFailed
	exitWrongPod
	exitUnknownMachine
	exitNoJava
	exitToolMissing
	exitFewTasks
)

// neededTasks is how many tasks (processes and threads) the container's limit must leave
// for a session: five threads of the helper, a shell and a tool, and as many again for the
// application meanwhile.
const neededTasks = 16

// saysSend begins the line that requests the helper; the machine follows, as uname -m
// names it.
const saysSend = "jmx-attach send "

// prelude is what the script does by. It says an empty line first: a command that hangs
// later has begun.
//
// A script that ends before it has read all of its standard input says so, and reads
// the rest: an exec whose command ends earlier hangs until its deadline once there is
// more than fits into the buffers on the way.
//
// Where others may write to /tmp, whatever is looked up there by its path may be
// another file by the next line. So the script enters the agent directory, and looks at the owner and
// the mode of the directory that it is in then. From there on all names are
// relative: what others do to the path does not matter any more. Nobody but root and
// this user could have written there.
//
// enter refuses a link in the place of the agent directory: the way to where it leads is another
// one. "./" keeps CDPATH out of it. set -C has > create files only, so that it
// writes into none that is there, nor through a link.
//
// Where the container has few tasks left, it ends before it starts a tool: one of the
// application's threads could lack the place. A shell is all that looks for it.
//
// leave removes the helper, what was left of its installation, and the directory if
// that is empty then: at any end of a session that is to leave nothing.
var prelude = fmt.Sprintf(`echo
helper_missing=%d cut=%d not_writable=%d not_trusted=%d write_failed=%d wrong_pod=%d unknown_machine=%d no_java=%d tool_missing=%d few_tasks=%d
set -C
helper= inside= transient= t=
leave() {
  [ "$inside" ] && [ "$transient" ] || return 0
  rm -f "./$helper" "$t"
  cd -P .. && rmdir "./$name"
  inside=
} 2>/dev/null
end() { leave; echo; echo "%[11]s"; cat >/dev/null; exit "$1"; }
for pids in /sys/fs/cgroup/pids /sys/fs/cgroup/pids/pids; do
  { read -r limit <"$pids.max" && read -r used <"$pids.current"; } 2>/dev/null || continue
  if [ "$limit" != max ] && [ $((limit - used)) -lt %[12]d ]; then
    echo "at least $((used / 8 * 8)) of $limit" >&2
    echo; echo "%[11]s"
    while read -r rest; do :; done
    exit $few_tasks
  fi
done
for tool in cat chmod head ls mkdir mv rm sha256sum uname; do
  command -v "$tool" >/dev/null || { echo "$tool" >&2; end $tool_missing; }
done
name=%[14]s home=%[13]s/%[14]s
there() { [ -e "$home" ] || [ -L "$home" ]; }
enter() {
  cd -P %[13]s && tmp=$(pwd -P) && cd -P "./$name" &&
    [ "$(pwd -P)" = "$tmp/$name" ] && trusted d .
} 2>/dev/null
trusted() { # $1 type as ls has it, $2 name: mode, links and owner follow
  set -- "$1" "$2" $(ls -ldn "$2" 2>/dev/null)
  case $3 in "$1"????-??-*) ;; *) return 1 ;; esac
  [ "$5" = 0 ] || [ -O "$2" ]
}
`, exitHelperMissing, exitCut, exitNotWritable, exitNotTrusted, exitWriteFailed, exitWrongPod, exitUnknownMachine, exitNoJava, exitToolMissing, exitFewTasks, wire.EndLine, neededTasks, path.Dir(helperapi.AgentDirectory), path.Base(helperapi.AgentDirectory))

// lookForJava ends where no process maps a JVM, and nothing has to be installed: a
// container without Java is left as it is. One grep reads the maps of all, up to the
// first hit. Where it could not read them all, each is looked at by itself: one that
// cannot be read (another user's process), or that there is no grep for, may hide a
// JVM; one that is gone does not.
const lookForJava = `look_for_java() {
  grep -qs -e libjvm.so -e libj9vm /proc/[0-9]*/maps
  case $? in 0) return ;; 1) end $no_java ;; esac
  for maps in /proc/[0-9]*/maps; do
    grep -qs -e libjvm.so -e libj9vm "$maps"
    case $? in 0) return ;; 1) ;; *) [ ! -e "$maps" ] || return ;; esac
  done
  end $no_java
}
`

// install takes the helper from standard input: an empty line, then as many bytes as
// it has. Nothing is written before that line has come. The copy gets its name only
// when it is whole, as its digest says: a cut stream looks like a clean end of file.
var install = fmt.Sprintf(`install() { # $1 name, $2 size, $3 SHA-256
  case $(cat /proc/self/mountinfo) in *"/pods/$uid/"*) ;; *) end $wrong_pod ;; esac
  echo; echo "%s$m"
  read -r go || end $cut
  umask 022
  cd -P %s 2>/dev/null || end $not_writable
  if ! mkdir "./$name" 2>/dev/null && ! there; then
    [ -w . ] || end $not_writable
    end $write_failed
  fi
  enter || { there && end $not_trusted; end $helper_missing; }
  inside=1
  [ -w . ] || [ -O . ] || end $not_trusted
  [ ! -d "./$1" ] || end $not_trusted
  read -r pid rest </proc/self/stat
  t=./.$1.$pid
  true >"$t" || end $write_failed
  trap 'rm -f "$t"' EXIT
  head -c "$2" >>"$t" || end $write_failed
  case $(sha256sum <"$t") in "$3 "*) ;; *) end $cut ;; esac
  chmod 755 "$t" && mv -f "$t" "./$1" && [ ! -e "$t" ] || end $write_failed
  trap - EXIT
}
`, saysSend, path.Dir(helperapi.AgentDirectory))

// script holds a session with the helper, and installs it before if it is missing:
// $1 name, $2 size and $3 SHA-256 of the helper for x86_64, $4, $5 and $6 for aarch64,
// $7 and $8 the SHA-256 of the jars that it may stage and load.
// Linux 6.1 and later names the machine in a file, which takes no process to read.
// The first line of standard input is the pod's UID; the word "transient" after it has
// the helper removed at the end. What lies in a directory of somebody else is not run.
//
// The shell stays until the helper has ended: containerd cuts standard input
// when the command that it runs closes its output early. A helper that cannot be
// executed (126: /tmp is mounted noexec) is removed again: nothing else would. What a
// shell printed when it started, before the empty line, is not part of the session.
var script = prelude + lookForJava + install + `read -r uid flags
case $flags in *transient*) transient=1 ;; esac
{ read -r m </proc/sys/kernel/arch; } 2>/dev/null || m=$(uname -m)
case $m in
x86_64) set -- "$1" "$2" "$3" "$7" "$8" ;;
aarch64) set -- "$4" "$5" "$6" "$7" "$8" ;;
*) end $unknown_machine ;;
esac
helper=$1
if there; then
  if enter; then inside=1; elif there; then end $not_trusted; fi
fi
if [ ! "$inside" ] || ! trusted - "./$1"; then
  look_for_java
  install "$@"
  trusted - "./$1" || end $helper_missing
fi
echo
"./$1" serve "$4" "$5"
code=$?
[ $code -ne 126 ] || transient=1
leave
[ $code -eq 0 ] || end $code`

// Command is what a session is executed as in a container: the script, this operator's
// helpers, and the digests of the jars that the helper may stage and load.
func (a *Artifacts) Command() []string {
	command := []string{"sh", "-c", script, "jmx-attach"}
	for _, machine := range []string{"x86_64", "aarch64"} {
		helper := a.Helpers[machine]
		command = append(command, helper.Name, strconv.FormatInt(helper.Size, 10), helper.SHA256)
	}
	return append(command, a.Agent.SHA256, a.Implementation.SHA256)
}
