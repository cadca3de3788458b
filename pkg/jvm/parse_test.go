//go:build linux

package jvm

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// The kernel keeps 15 bytes of a thread's name, and JDK 26 and later leave out the
// middle of one that is longer.
func TestKernelNames(t *testing.T) {
	for name, want := range map[string][]string{
		"Notification Thread":     {"Notification Th", "Notific..Thread"},
		"VM Periodic Task Thread": {"VM Periodic Tas", "VM Peri..Thread"},
		"Signal Dispatcher":       {"Signal Dispatch", "Signal ..atcher"},
		"fifteen letters":         {"fifteen letters"},
		"VM Thread":               {"VM Thread"},
	} {
		if diff := cmp.Diff(want, kernelNames(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseStat(t *testing.T) {
	const rest = " 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 33 0 186882 1000 200 18446744073709551615"
	for name, test := range map[string]struct {
		stat  string
		want  stat
		fails bool
	}{
		"plain":                      {"7 (java) S" + rest, stat{'S', 186882, 30 * time.Millisecond}, false},
		"parentheses in the command": {"7 (a) R 1 (b)) S" + rest, stat{'S', 186882, 30 * time.Millisecond}, false},
		"zombie":                     {"7 (java) Z" + rest, stat{'Z', 186882, 30 * time.Millisecond}, false},
		"cut":                        {"7 (java) S 1 7", stat{}, true},
		"no number":                  {"7 (java) S" + strings.Replace(rest, "186882", "x", 1), stat{}, true},
		"no command":                 {"7 java S" + rest, stat{}, true},
		"empty":                      {"", stat{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(test.stat))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\tjava\nPid:\t4711\nNSpid:\t4711\t12\t1\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t6 9 \nSigCgt:\t2000000181005ccf\n"
	got, err := parseStatus([]byte(text))
	want := status{uid: 2, gid: 6, groups: []int{6, 9}, nspid: 1, caught: 0x2000000181005ccf}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	got, err = parseStatus([]byte(strings.Replace(text, "NSpid", "Other", 1)))
	if err != nil || got.nspid != 4711 {
		t.Errorf("without NSpid: got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "Pid:\t1\n", strings.Replace(text, "2000000181005ccf", "x", 1)} {
		if _, err := parseStatus([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestParseMaps(t *testing.T) {
	const (
		java = "55d000000000-55d000001000 r-xp 00000000 08:01 1 /usr/bin/java\n"
		tail = "7f0000000000-7f0000001000 r-xp 00010000 08:01 2                          "
		read = "7f0000000000-7f0000001000 r--p 00010000 08:01 2                          "
	)
	for name, test := range map[string]struct {
		maps           string
		implementation Implementation
		library        string
	}{
		"hotspot":               {java + tail + "/opt/jdk/lib/server/libjvm.so\n", HotSpot, "/opt/jdk/lib/server/libjvm.so"},
		"deleted by an upgrade": {tail + "/opt/jdk/lib/server/libjvm.so (deleted)\n", HotSpot, "/opt/jdk/lib/server/libjvm.so"},
		"spaces":                {tail + "/opt/my jdk/lib/server/libjvm.so\n", HotSpot, "/opt/my jdk/lib/server/libjvm.so"},
		"openj9":                {tail + "/opt/j9/lib/default/libjvm.so\n" + tail + "/opt/j9/lib/default/libj9vm29.so\n", OpenJ9, "/opt/j9/lib/default/libj9vm29.so"},
		"only read":             {java + read + "/opt/jdk/lib/server/libjvm.so\n", "", ""},
		"another library":       {tail + "/opt/libjvm.so.txt\n", "", ""},
		"anonymous":             {"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n", "", ""},
		"empty":                 {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			implementation, library, err := parseMaps(strings.NewReader(test.maps), int64(len(test.maps)+1))
			if implementation != test.implementation || library != test.library || err != nil {
				t.Errorf("got %q, %q, %v", implementation, library, err)
			}
		})
	}
	whole := java + tail + "/opt/jdk/lib/server/libjvm.so\n" + java
	for name, maps := range map[string]io.Reader{
		"cut":       io.MultiReader(strings.NewReader(whole), strings.NewReader(strings.Repeat(java, 100))),
		"long line": strings.NewReader(whole + tail + "/" + strings.Repeat("x", maxMapsLine) + "\n"),
	} {
		if implementation, _, err := parseMaps(maps, int64(len(whole))); !errors.Is(err, errMapsTooLong) || implementation != "" {
			t.Errorf("%s: got %q, %v", name, implementation, err)
		}
	}
	if _, _, err := parseMaps(iotest.ErrReader(io.ErrUnexpectedEOF), 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// A broker maps every segment of its logs, so that its libjvm.so stands far behind
// in its maps.
func TestManyMaps(t *testing.T) {
	segment, err := os.Create(filepath.Join(t.TempDir(), strings.Repeat("segment", 15)))
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	if err := segment.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	library, err := os.Open(filepath.Join(jvmtest.Need(t, 17).Home, "lib/server/libjvm.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	mapped := func(f *os.File, access int) {
		memory, err := syscall.Mmap(int(f.Fd()), 0, 4096, access, syscall.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Munmap(memory); err != nil {
				t.Error(err)
			}
		})
	}
	mapped(library, syscall.PROT_READ|syscall.PROT_EXEC) // highest: the kernel maps downwards
	for range 33_000 {
		mapped(segment, syscall.PROT_READ)
	}
	maps, err := readProc(os.Getpid(), "maps")
	if at := bytes.Index(maps, []byte("libjvm.so")); err != nil || at < 5<<20 {
		t.Fatalf("libjvm.so is at %d: %v", at, err)
	}
	if p, err := look(os.Getpid()); err != nil || p.Implementation != HotSpot {
		t.Errorf("got %q, %v", p.Implementation, err)
	}
}

func TestParseListening(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   0: 00000000000000000000000001000000:24BC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4 1 0 100 0 0 10 0
   9: broken
`
	want := []listener{{8080, "1"}, {443, "2"}, {9404, "4"}}
	if diff := cmp.Diff(want, parseListening([]byte(table)), cmp.AllowUnexported(listener{})); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}

func TestParseUnix(t *testing.T) {
	const table = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 100 /tmp/.java_pid7.tmp
0000000000000000: 00000002 00000000 00010000 0001 01 101 /tmp/.java_pid7
0000000000000000: 00000003 00000000 00000000 0001 03 102 /tmp/.java_pid7.tmp
0000000000000000: 00000002 00000000 00010000 0001 01 103 /tmp/.java_pid77
0000000000000000: 00000002 00000000 00010000 0001 01 104
`
	if diff := cmp.Diff([]string{"100", "101"}, parseUnix([]byte(table), "/tmp/.java_pid7")); diff != "" {
		t.Errorf("inodes (-want +got):\n%s", diff)
	}
}

func TestParseProperties(t *testing.T) {
	const text = `#Sat Nov 21 08:50:00 UTC 2026
! also a comment
plain=value
path.separator=\:
line.separator=\n
empty=
nothing
spaced   :   value with end  
key\ with\=all\:of\ it=\ leading and \\ back
unicode=\u00E9\u4e16\ud83d\ude00
control=\t\r\f\u0007
unknown=\q\'
bad=\u12xy
cut=\u12
long=one, \
    two, \
    three
backslashes=even\\
last=1`
	want := map[string]string{
		"plain": "value", "path.separator": ":", "line.separator": "\n", "empty": "", "nothing": "",
		"spaced": "value with end  ", "key with=all:of it": " leading and \\ back",
		"unicode": "é世😀", "control": "\t\r\f\a", "unknown": "q'", "bad": "u12xy", "cut": "u12",
		"long": "one, two, three", "backslashes": "even\\", "last": "1",
	}
	for name, ending := range map[string]string{"lf": "\n", "cr": "\r", "crlf": "\r\n"} {
		if diff := cmp.Diff(want, parseProperties(strings.ReplaceAll(text, "\n", ending))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, edge := range []string{"", "\n\n", "#only", `open\`, "=", `\`} {
		parseProperties(edge) // ends
	}
}

func FuzzParseProperties(f *testing.F) {
	f.Add("a=b\\\n c\\u00e9\n")
	f.Fuzz(func(_ *testing.T, text string) { parseProperties(text) })
}

func TestParseCommandLine(t *testing.T) {
	files := map[string]string{
		"args":   "-Xmx1g # a comment\n\"-cp\" 'my dir/*'\\\n-XX:+DisableAttachMechanism\ncom.example.FromFile",
		"quoted": `"-Dx=a \"b\" \` + "\n   c\" -Xrs",
		"vm":     "-Xrs\n-XX:+DisableAttachMechanism",
		"flags":  "+DisableAttachMechanism # why\n-EnableDynamicAgentLoading\n",
	}
	read := func(name string) (string, error) {
		if text, ok := files[name]; ok {
			return text, nil
		}
		return "", errors.New("no such file")
	}
	attachDisabled, reduced := Flags{AttachDisabled: true}, Flags{SignalsReduced: true}
	for name, test := range map[string]struct {
		argv    string // separated by |
		environ []string
		linked  string
		major   int
		want    commandLine
	}{
		"class":              {argv: "java|-Xmx1g|-cp|a.jar:b.jar|com.example.Main|-Xrs", want: commandLine{mainClass: "com.example.Main"}},
		"jar":                {argv: "/opt/bin/java|-Dx=y|-jar|/srv/app.jar|--port=1", want: commandLine{mainClass: "app.jar"}},
		"module":             {argv: "java|-p|mods|-m|com.example/com.example.Main|x", want: commandLine{mainClass: "com.example/com.example.Main"}},
		"module with =":      {argv: "java|--module-path=mods|--module=com.example", want: commandLine{mainClass: "com.example"}},
		"nothing":            {argv: "java|-version"},
		"empty":              {},
		"value is no option": {argv: "java|--add-opens|-Xrs|Main", want: commandLine{mainClass: "Main"}},
		"own launcher":       {argv: "/usr/bin/jsvc|-Xrs|com.example.Daemon", want: commandLine{mainClass: "jsvc", flags: reduced}},
		"disabled":           {argv: "java|-XX:+DisableAttachMechanism|Main", want: commandLine{mainClass: "Main", flags: attachDisabled}},
		"last wins":          {argv: "java|-XX:+DisableAttachMechanism|-XX:-DisableAttachMechanism|Main", want: commandLine{mainClass: "Main"}},
		"application's":      {argv: "java|Main|-XX:+DisableAttachMechanism", want: commandLine{mainClass: "Main"}},
		"signals":            {argv: "java|-XX:+ReduceSignalUsage|Main", want: commandLine{mainClass: "Main", flags: reduced}},
		"agents off":         {argv: "java|-XX:-EnableDynamicAgentLoading|Main", want: commandLine{mainClass: "Main", flags: Flags{AgentLoading: Off}}},
		"agents on":          {argv: "java|-XX:+EnableDynamicAgentLoading|Main", want: commandLine{mainClass: "Main", flags: Flags{AgentLoading: On}}},
		"linked in": {
			argv: "java|Main", linked: "-XX:+DisableAttachMechanism\n-Xrs -javaagent:a.jar",
			want: commandLine{
				mainClass: "Main", agents: []JavaAgent{{Jar: "a.jar"}},
				flags: Flags{AttachDisabled: true, SignalsReduced: true},
			},
		},
		"linked in, lose": {
			argv: "java|Main", linked: "-XX:+DisableAttachMechanism", environ: []string{"JAVA_TOOL_OPTIONS=-XX:-DisableAttachMechanism"},
			want: commandLine{mainClass: "Main"},
		},
		"tool options lose": {
			argv: "java|-XX:-DisableAttachMechanism|Main", environ: []string{"JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism"},
			want: commandLine{mainClass: "Main"},
		},
		"tool options quoted": {
			argv: "java|Main", environ: []string{`JAVA_TOOL_OPTIONS='-Dx=a b' "-X"rs`},
			want: commandLine{mainClass: "Main", flags: reduced},
		},
		"underscore options win": {
			argv: "java|-XX:-DisableAttachMechanism|Main", environ: []string{"_JAVA_OPTIONS=-XX:+DisableAttachMechanism"},
			want: commandLine{mainClass: "Main", flags: attachDisabled},
		},
		"launcher options": {
			argv: "java|Main", environ: []string{"JDK_JAVA_OPTIONS=-Xrs @vm"},
			want: commandLine{mainClass: "Main", flags: Flags{SignalsReduced: true, AttachDisabled: true}},
		},
		"launcher options in 8": {
			argv: "java|Main", environ: []string{"JDK_JAVA_OPTIONS=-Xrs"}, major: 8,
			want: commandLine{mainClass: "Main"},
		},
		"argument file":           {argv: "java|@args|x", want: commandLine{mainClass: "com.example.FromFile", flags: attachDisabled}},
		"argument file, quotes":   {argv: "java|@quoted|Main", want: commandLine{mainClass: "Main", flags: reduced}},
		"argument files disabled": {argv: "java|--disable-@files|@args|Main", want: commandLine{mainClass: "@args"}},
		"literal @":               {argv: "java|-cp|@@x|Main", want: commandLine{mainClass: "Main"}},
		"after the main class":    {argv: "java|Main|@vm", want: commandLine{mainClass: "Main"}},
		"missing argument file":   {argv: "java|-Xrs|@gone|--password|s3cr3t", want: commandLine{flags: reduced, unread: true}},
		"missing options file":    {argv: "java|-XX:VMOptionsFile=gone|Main", want: commandLine{mainClass: "Main", unread: true}},
		"missing flags file":      {argv: "java|-XX:Flags=gone|Main", want: commandLine{mainClass: "Main", unread: true}},
		"too many files":          {argv: "java" + strings.Repeat("|@quoted", maxFiles+1) + "|Main", want: commandLine{flags: reduced, unread: true}},
		"options file": {
			argv: "java|-XX:-DisableAttachMechanism|-XX:VMOptionsFile=vm|Main",
			want: commandLine{mainClass: "Main", flags: Flags{SignalsReduced: true, AttachDisabled: true}},
		},
		"flags file loses": {
			argv: "java|-XX:-DisableAttachMechanism|-XX:Flags=flags|Main",
			want: commandLine{mainClass: "Main", flags: Flags{AgentLoading: Off}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			argv := splitNul([]byte(strings.ReplaceAll(test.argv, "|", "\x00") + "\x00"))
			launcher := java
			if len(argv) > 0 {
				launcher = path.Base(argv[0])
			}
			got := parseCommandLine(launcher, argv, test.environ, test.linked, test.major, read)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(commandLine{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithinGroups(t *testing.T) {
	const unified, ours = "0::/kubepods.slice/pod1/", "12:pids:/kubepods/pod1/c1\n0::/kubepods/pod1/c1\n"
	for name, test := range map[string]struct {
		process, container string
		want               bool
	}{
		"same":                       {ours, ours, true},
		"below":                      {unified + "c1/nested\n", unified + "c1\n", true},
		"beside":                     {unified + "c2\n", unified + "c1\n", false},
		"beginning of a name":        {unified + "c12\n", unified + "c1\n", false},
		"above":                      {unified + "\n", unified + "c1\n", false},
		"other in one hierarchy":     {"12:pids:/kubepods/pod1/c1\n0::/kubepods/pod1/c2\n", ours, false},
		"namespace, same":            {"0::/\n", "0::/\n", true},
		"namespace, below":           {"0::/init.scope\n", "0::/\n", true},
		"namespace, other container": {"0::/../c2\n", "0::/\n", false},
		"nothing known":              {"", ours, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withinGroups(test.process, test.container); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestParseRelease(t *testing.T) {
	vendor, version := parseRelease("IMPLEMENTOR=\"Eclipse Adoptium\"\nJAVA_VERSION=\"25.0.3\"\nJAVA_VERSION_DATE=\"2026-04-21\"\n")
	if vendor != "Eclipse Adoptium" || version != "25.0.3" {
		t.Errorf("got %q, %q", vendor, version)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]struct {
		major    int
		restarts bool
	}{
		"1.8.0_341": {8, false}, "1.8.0_342": {8, true}, "1.8.0": {8, false},
		"11.0.12": {11, false}, "11.0.13": {11, true}, "11": {11, false}, "13.0.2": {13, false},
		"14": {14, true}, "17.0.15": {17, true}, "25": {25, true}, "26-ea": {26, true}, "": {0, false},
	} {
		if Major(version) != want.major || restartsListener(version) != want.restarts {
			t.Errorf("%q: got %d, %v, want %+v", version, Major(version), restartsListener(version), want)
		}
	}
}

func TestEncodeRequest(t *testing.T) {
	got, err := encodeRequest("load", "instrument", "false")
	if err != nil || string(got) != "1\x00load\x00instrument\x00false\x00\x00" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, args := range [][]string{{"1", "2", "3", "4"}, {strings.Repeat("x", 1025)}, {"a\x00b"}} {
		if _, err := encodeRequest("load", args...); err == nil {
			t.Errorf("no error for %.20q", args)
		}
	}
}

func TestDecodeReply(t *testing.T) {
	for reply, want := range map[string]struct {
		code  int
		text  string
		fails bool
	}{
		"0\n":                 {0, "", false},
		"0\nreturn code: 0\n": {0, "return code: 0\n", false},
		"-1\nno":              {-1, "no", false},
		"101\n":               {101, "", false},
		"0":                   {fails: true},
		"x\n":                 {fails: true},
		"":                    {fails: true},
	} {
		code, text, err := decodeReply([]byte(reply))
		if code != want.code || text != want.text || (err != nil) != want.fails {
			t.Errorf("%q: got %d, %q, %v", reply, code, text, err)
		}
	}
}

func TestDecodeLoad(t *testing.T) {
	for name, test := range map[string]struct {
		code int
		text string
		want Kind // empty: loaded
	}{
		"8":               {0, "0\n", ""},
		"8, thrown":       {0, "102\n", AgentFailed},
		"9":               {0, "return code: 0\n", ""},
		"9, bad jar":      {0, "return code: 100\n", UnsupportedJVM},
		"9, class loader": {0, "return code: 101\n", UnsupportedJVM},
		"9, thrown":       {0, "return code: 102\n", AgentFailed},
		"17, disabled":    {-1, "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.\n", AgentLoadingDisabled},
		"25, disabled":    {0, "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.\n", AgentLoadingDisabled},
		"module":          {-1, "java.lang.module.FindException: Module java.instrument not found\n", MissingModule},
		"library":         {0, "instrument was not loaded.\nlibinstrument.so: cannot open shared object file\n", MissingModule},
		"24, too early":   {0, "Dynamic agent loading is only permitted in the live phase\n", AttachFailed},
		"11, too early":   {-1, "java.lang.NullPointerException\n", AttachFailed},
		"bad version":     {101, "", AttachFailed},
		"nothing said":    {0, "", AttachFailed},
		"not a module":    {-1, "Module of a long sentence not found\n", AttachFailed},
		"negative result": {0, "return code: -1\n", AttachFailed},
	} {
		t.Run(name, func(t *testing.T) {
			var got Kind
			if err := decodeLoad(test.code, test.text); err != nil {
				got = err.Kind
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
