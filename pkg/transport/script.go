package transport

import (
	"fmt"
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

// The scripts are constants, and so are their arguments: digests, sizes and
// verbs of this operator. All that stems from a resource or a container travels
// on standard input. They are for any POSIX shell, and tools that coreutils and
// busybox both bring.

// Exit codes of the scripts; the helper itself exits with 0, 1 or 2. They keep
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
)

// prelude begins both scripts. A script that ends before it has read all of its
// standard input reads the rest: an exec whose command ends earlier hangs until
// its deadline once there is more than fits into the buffers on the way.
var prelude = fmt.Sprintf(`helper_missing=%d cut=%d not_writable=%d not_trusted=%d write_failed=%d wrong_pod=%d unknown_machine=%d no_java=%d tool_missing=%d
end() { cat >/dev/null; exit "$1"; }
for tool in cat chmod mkdir mv sha256sum uname wc; do
  command -v "$tool" >/dev/null || { echo "$tool" >&2; end $tool_missing; }
done
h=%s
trusted() { [ ! -L "$h" ] && [ -d "$h" ] && [ -O "$h" ]; }
`, exitHelperMissing, exitCut, exitNotWritable, exitNotTrusted, exitWriteFailed, exitWrongPod, exitUnknownMachine, exitNoJava, exitToolMissing, attach.Home)

// runScript runs the helper if it is there, and says the machine if it is not:
// $1 verb, $2 name on x86_64, $3 name on aarch64. What lies in a directory of
// somebody else is not run.
//
// Where the helper is missing and no process maps a JVM, nothing is installed:
// a container without Java is left as it is. A maps file that cannot be read
// (another user's process), or that there is no grep for, may hide one.
//
// The shell stays until the helper has ended: containerd cuts standard input
// when the command that it runs closes its output early.
var runScript = prelude + `m=$(uname -m)
case $m in x86_64) n=$2 ;; aarch64) n=$3 ;; *) end $unknown_machine ;; esac
if [ -e "$h" ] || [ -L "$h" ]; then trusted || end $not_trusted; fi
if [ ! -f "$h/$n" ]; then
  if [ "$1" = inspect ]; then
    java=
    for maps in /proc/[0-9]*/maps; do
      grep -qs -e libjvm.so -e libj9vm "$maps"
      case $? in 0) java=1 ;; 1) ;; *) [ ! -e "$maps" ] || java=1 ;; esac
    done
    [ "$java" ] || end $no_java
  fi
  echo "$m"
  end $helper_missing
fi
"$h/$n" "$1" --request
end $?`

// installScript takes the pod's UID (a line) and the helper from standard
// input: $1 name, $2 size, $3 SHA-256. The copy gets its name only when it is
// whole: a cut stream looks like a clean end of file.
var installScript = prelude + `umask 022
read -r uid
case $(cat /proc/self/mountinfo) in *"/pods/$uid/"*) ;; *) end $wrong_pod ;; esac
if ! mkdir "$h" 2>/dev/null && [ ! -e "$h" ] && [ ! -L "$h" ]; then
  [ -w "${h%/*}" ] || end $not_writable
  end $write_failed
fi
trusted || end $not_trusted
t=$h/.$1.$$
trap 'rm -f "$t"' EXIT
cat >"$t" || end $write_failed
[ "$(wc -c <"$t")" -eq "$2" ] || exit $cut
sum=$(sha256sum <"$t")
[ "${sum%% *}" = "$3" ] || exit $cut
chmod 755 "$t" && mv -f "$t" "$h/$1" || exit $write_failed`

func runCommand(verb attach.Verb, helpers map[string]Blob) []string {
	return []string{"sh", "-c", runScript, "jmx-attach", string(verb), helpers["x86_64"].Name, helpers["aarch64"].Name}
}

func installCommand(helper Blob) []string {
	return []string{"sh", "-c", installScript, "jmx-attach", helper.Name, strconv.FormatInt(helper.Size, 10), helper.SHA256}
}
