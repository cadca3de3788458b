package transport

import (
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

// The scripts are constants, and so are their arguments: digests, sizes and
// verbs of this operator. All that stems from a resource or a container travels
// on standard input. They need a POSIX sh, cat, wc, mkdir, chmod, mv and
// sha256sum, which coreutils and busybox both bring.

// Exit codes of the scripts; the helper itself exits with 0 or 1. They keep
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
)

// endScript defines how a script ends before it has read all of its standard
// input: it reads the rest. An exec whose command ends earlier hangs until its
// deadline once there is more than fits into the buffers on the way.
const endScript = `end() { cat >/dev/null; exit "$1"; }
`

// runScript runs the helper if it is there, and says the machine if it is not:
// $1 verb, $2 name on x86_64, $3 name on aarch64.
//
// Where the helper is missing and no process maps a JVM, nothing is installed:
// a container without Java is left as it is. A maps file that cannot be read
// (another user's process) may hide one.
//
// The shell stays until the helper has ended: containerd cuts standard input
// when the command that it runs closes its output early.
const runScript = endScript + `h=` + attach.Home + ` m=$(uname -m)
case $m in x86_64) n=$2 ;; aarch64) n=$3 ;; *) echo "$m"; end 70 ;; esac
if [ ! -x "$h/$n" ]; then
  if [ "$1" = inspect ]; then
    j=
    for p in /proc/[0-9]*/maps; do
      grep -qs -e libjvm.so -e libj9vm "$p"
      case $? in 0) j=1 ;; 1) ;; *) [ ! -e "$p" ] || j=1 ;; esac
    done
    [ "$j" ] || end 71
  fi
  echo "$m"
  end 64
fi
"$h/$n" "$1" --request
end $?`

// installScript takes the pod's UID (a line) and the helper from standard
// input: $1 name, $2 size, $3 SHA-256. The copy gets its name only when it is
// whole: a cut stream looks like a clean end of file.
const installScript = endScript + `umask 022
h=` + attach.Home + `
read -r uid
case $(cat /proc/self/mountinfo) in *"/pods/$uid/"*) ;; *) end 69 ;; esac
mkdir "$h" 2>/dev/null
if [ ! -e "$h" ]; then end 66; fi
if [ -L "$h" ] || [ ! -d "$h" ] || [ ! -O "$h" ]; then end 67; fi
t=$h/.$1.$$
trap 'rm -f "$t"' EXIT
cat >"$t" || end 68
[ "$(wc -c <"$t")" -eq "$2" ] || exit 65
set -- "$1" "$3" $(sha256sum <"$t") || exit 127
[ "$2" = "$3" ] || exit 65
chmod 755 "$t" && mv -f "$t" "$h/$1" || exit 68`

func runCommand(verb attach.Verb, helpers map[string]Blob) []string {
	return []string{"sh", "-c", runScript, "jmx-attach", string(verb), helpers["x86_64"].Name, helpers["aarch64"].Name}
}

func installCommand(helper Blob) []string {
	return []string{"sh", "-c", installScript, "jmx-attach", helper.Name, strconv.FormatInt(helper.Size, 10), helper.SHA256}
}
