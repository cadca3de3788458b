//go:build linux

package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

const library = "/mnt/jdk/lib/server/libjvm.so"

// Processes that look like a JVM, and are none.
func TestProcesses(t *testing.T) {
	release := func(script string) func(*container, *call) {
		return func(c *container, call *call) {
			c.sh("mkdir -p /mnt/jdk; cd /mnt/jdk; " + script)
			has("true")(c, call)
		}
	}
	const nastyRelease = `printf 'IMPLEMENTOR="\033[31m\302\2332J\342\200\256x\377"\nJAVA_VERSION="\033]0;x\007"\n' >release`
	one := func(t *testing.T, report *helperapi.Report, _ error) {
		t.Helper()
		if report == nil || len(report.Processes) != 1 || report.Processes[0].Refusal == nil {
			t.Fatalf("got report %+v, want one process", report)
		}
		p := report.Processes[0]
		for _, text := range []string{p.Vendor, p.Version, p.MainClass, p.Refusal.Message} {
			wantPrintable(t, text)
			if len(text) > 1024 {
				t.Errorf("a text of the report has %d bytes", len(text))
			}
		}
	}
	test(t, map[string]row{
		"a library has the name of a JVM's":      {given: has("true"), check: one},
		"the release file has 20 MB":             {given: release(`(printf 'IMPLEMENTOR="'; head -c 12000000 /dev/zero | tr '\0' x) >release`), check: one},
		"the release file is endless":            {given: release("ln -s /dev/zero release"), check: one},
		"the release file is a FIFO":             {given: release("mkfifo release"), check: one},
		"the release file has unsafe characters": {given: release(nastyRelease), check: one},
		"the modules file is a FIFO":             {given: release("mkdir lib; mkfifo lib/modules"), check: one},
		"the modules file has 8 TB":              {given: release("mkdir lib; truncate -s 8T lib/modules"), check: one},
		"the library is renamed": {check: one, given: func(c *container, call *call) {
			has("true")(c, call)
			c.sh(`mv ` + library + ` "/mnt/jdk/lib/server/x (deleted)` + "\n" + `libjvm.so"`)
			c.startsLibrary("/mnt/jdk/lib/server/libjvm.so.so")
			c.startsLibrary(library)
		}},
		"the process is renamed": {check: one, given: func(c *container, _ *call) {
			c.sh("mkdir -p /mnt/jdk/lib/server")
			c.startsLibrary("/mnt/other.so")
			c.sh("cp /mnt/other.so " + library)
			c.starts(c.command("sh", "-c", `LD_PRELOAD=`+library+` exec bash -c 'printf "a) Z 1 1\nb" >/proc/$$/comm; echo up; read -r line'`))
		}},
		"the arguments name endless files": {check: one, given: func(c *container, _ *call) {
			c.startsLibrary("/mnt/other.so")
			c.sh("mkdir -p /mnt/jdk/lib/server; cp /mnt/other.so " + library + "; cp /bin/sleep /mnt/java; mkfifo /mnt/fifo")
			c.maps(library, c.command("sh", "-c", `echo up; LD_PRELOAD=`+library+` JAVA_TOOL_OPTIONS=-XX:VMOptionsFile=/dev/zero JDK_JAVA_OPTIONS=@/mnt/fifo exec /mnt/java 1000`))
		}},
		"the PID is reused": {reason: v1alpha1.ReasonProcessGone, leaves: []string{"*"}, given: func(c *container, call *call) {
			inside, outside := c.startsLibrary(library)
			start, err := jvm.StartTime(outside)
			if err != nil {
				c.t.Fatal(err)
			}
			kill(outside)
			eventually(c.t, "the process has exited", func() bool { return link(outside, "ns/pid") == "" })
			*call = c.loads(inside, start)
			c.sh(fmt.Sprintf("echo %d >/proc/sys/kernel/ns_last_pid", inside-1))
			if again, _ := c.maps(library, c.command("sh", "-c", "echo up; exec env LD_PRELOAD="+library+" sleep 1000")); again != inside {
				c.t.Fatalf("the PID is %d, want the reused %d", again, inside)
			}
		}},
	})
}

// loads requests a load into a process, of files that are already staged.
func (c *container) loads(pid int, start uint64) call {
	c.t.Helper()
	for name, content := range map[string]string{jar.Name: string(jar.Content), config.Name: string(config.Content), exporter.Name: string(exporter.Content)} {
		c.write(agentDirectory+"/"+name, content, 0o644)
	}
	return call{verb: helperapi.VerbLoad, request: helperapi.Request{
		Target: &helperapi.Target{PID: pid, StartTime: start},
		Desired: &helperapi.Desired{
			Agent: jar.Name, AgentSHA256: jar.SHA256, Implementation: exporter.Name, ImplementationSHA256: exporter.SHA256,
			Config: config.Name, ConfigSHA256: config.SHA256, Port: 19404,
		},
	}}
}

// A hostile attach socket of a process that looks like a JVM.
func TestSockets(t *testing.T) {
	rows := map[string]row{}
	for does, reason := range map[string]string{
		"is silent":               v1alpha1.ReasonAttachTimeout,
		"closes the connection":   v1alpha1.ReasonAttachFailed,
		"answers garbage":         v1alpha1.ReasonAttachFailed,
		"answers endlessly":       v1alpha1.ReasonAttachFailed,
		"has too many properties": v1alpha1.ReasonAttachFailed,
		"never accepts":           v1alpha1.ReasonAttachTimeout,
	} {
		rows["the attach socket "+does] = row{reason: reason, leaves: []string{"*"}, given: func(c *container, call *call) {
			c.startsLibrary("/mnt/other.so")
			c.sh("mkdir -p /mnt/jdk/lib/server; cp /mnt/other.so " + library)
			c.copiesItself("/mnt/java")
			cmd := c.command("/mnt/java")
			cmd.Env = append(os.Environ(), asJVM+"="+does)
			inside, outside := c.starts(cmd)
			start, err := jvm.StartTime(outside)
			if err != nil {
				c.t.Fatal(err)
			}
			*call = c.loads(inside, start)
		}}
	}
	test(t, rows)
}

// fakeJVM is a process that looks like a started JVM, and handles SIGQUIT. does selects the
// answers of its attach socket.
func fakeJVM(does string) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGQUIT)
	file, err := os.Open(library)
	must(err)
	_, err = syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE)
	must(err)
	go func() { // identifies a JVM in its live phase
		runtime.LockOSThread()
		name := append([]byte("Notification Th"), 0)
		const setName = 15 // PR_SET_NAME
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setName, uintptr(unsafe.Pointer(&name[0])), 0)
		select {}
	}()
	var used syscall.Rusage
	for used.Utime.Nano()+used.Stime.Nano() < time.Second.Nanoseconds() { // a JVM that used less CPU counts as starting
		must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	}
	listener, err := net.Listen("unix", "/tmp/.java_pid"+strconv.Itoa(os.Getpid()))
	must(err)
	if does == "has too many properties" {
		manyProperties()
	}
	fmt.Println("up")
	if does == "never accepts" {
		select {}
	}
	for {
		conn, err := listener.Accept()
		must(err)
		go answer(does, conn)
	}
}

// manyProperties is a reply longer than the limit.
var manyProperties = sync.OnceValue(func() string {
	var all strings.Builder
	for i := 0; all.Len() < 9<<20; i++ {
		fmt.Fprintf(&all, "key%d\n", i)
	}
	return all.String()
})

func answer(does string, conn net.Conn) {
	defer conn.Close()
	if does == "closes the connection" {
		return
	}
	if _, err := bufio.NewReader(conn).ReadSlice(0); err != nil { // the protocol version comes first
		return
	}
	switch does {
	case "is silent":
		_, _ = io.Copy(io.Discard, conn) // until the other side gives up
	case "answers garbage":
		_, _ = io.WriteString(conn, "\x1b[31m\u202e\x00\xff\n")
	case "answers endlessly":
		for err := error(nil); err == nil; {
			_, err = io.WriteString(conn, strings.Repeat("x", 1<<16))
		}
	case "has too many properties":
		_, _ = io.WriteString(conn, "0\n"+manyProperties())
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
