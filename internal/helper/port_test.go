//go:build linux

package helper

import (
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestLowestPort(t *testing.T) {
	for name, test := range map[string]struct {
		listening, avoid []int32
		want             int32 // 0: none
	}{
		"first":                {nil, nil, 9404},
		"lower ones count not": {[]int32{22, 9403}, []int32{80}, 9404},
		"listening":            {[]int32{9404, 9405}, nil, 9406},
		"avoided":              {nil, []int32{9405, 9404}, 9406},
		"a gap":                {[]int32{9404, 9406}, []int32{9407}, 9405},
		"both":                 {[]int32{9404, 9406}, []int32{9405}, 9407},
		"last":                 {nil, ports(helperapi.FirstPort, math.MaxUint16-1), 65535},
		"none":                 {[]int32{65535}, ports(helperapi.FirstPort, math.MaxUint16-1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got, found := lowestPort(test.listening, test.avoid); got != test.want || found != (test.want != 0) {
				t.Errorf("got %d, %v, want %d", got, found, test.want)
			}
		})
	}
}

// ports returns all ports from first to last.
func ports(first, last int32) (all []int32) {
	for port := first; port <= last; port++ {
		all = append(all, port)
	}
	return all
}

// hold binds a port without listening, so that it is neither free nor visible.
func hold(t *testing.T) int32 {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet6{}); err != nil {
		t.Fatal(err)
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return int32(address.(*syscall.SockaddrInet6).Port)
}

// An agent without a fixed port gets one once, and keeps it as long as it serves there.
func TestAutomaticPort(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	_, busy := listen(t)
	load := func(config string, port int32, avoid ...int32) (helperapi.Report, *helperapi.Desired) {
		desired := stageAgent(t, nil, config, port)
		desired.Avoid = avoid
		return do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), desired
	}
	// From the busy port upwards, so that concurrent tests do not matter.
	below := ports(helperapi.FirstPort, busy-1)
	report, _ := load(anyMBean, 0, below...)
	wantReason(t, report, "")
	chosen := wantMark(t, report, helperapi.AgentRunning, 1).Port
	if chosen <= busy || scrape(chosen) == "" {
		t.Fatalf("chose %d, want one above %d that is served", chosen, busy)
	}
	same := func(what string, report helperapi.Report) helperapi.Mark {
		t.Helper()
		wantReason(t, report, "")
		mark := wantMark(t, report, helperapi.AgentRunning, 1)
		if mark.Port != chosen || scrape(chosen) == "" {
			t.Errorf("%s: the port went from %d to %d", what, chosen, mark.Port)
		}
		return mark
	}
	before := same("again", report)
	report, _ = load(anyMBean, 0, below...)
	if after := same("again", report); after.Desired != before.Desired {
		t.Error("an agent that does what is desired was told again")
	}
	report, _ = load(anyMBean, 0, chosen)
	same("promised to another", report)
	report, desired := load(otherConfig, 0)
	if mark := same("other configuration", report); mark.ConfigSHA256 != desired.ConfigSHA256 {
		t.Errorf("serves %s", mark.ConfigSHA256)
	}
	report, _ = load(otherConfig, chosen)
	same("the same port, named", report)
	app.Tell("forget")
	report, _ = load(anyMBean, 0)
	same("mark lost", report)

	// If it no longer serves that port, it gets another one.
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
	report, _ = load(anyMBean, 0, append(below, chosen)...)
	wantReason(t, report, "")
	if mark := wantMark(t, report, helperapi.AgentRunning, 2); mark.Port == chosen || mark.Port <= busy || scrape(mark.Port) == "" {
		t.Errorf("chose %d, want another one than %d above %d", mark.Port, chosen, busy)
	}
	app.Unharmed()
}

// A port that is lost between selection and bind costs one try, but the load succeeds.
func TestAutomaticPortLost(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target, held := targetOf(t, app), hold(t)
	desired := stageAgent(t, nil, anyMBean, 0)

	// If the held port is the only candidate, no port is free.
	desired.Avoid = slices.Concat(ports(helperapi.FirstPort, held-1), ports(held+1, math.MaxUint16))
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
	wantReason(t, report, helperapi.ReasonPortInUse)
	wantMark(t, report, helperapi.AgentFailed, 1)
	const want = "No port from 9404 upwards is free."
	if report.Error.Message != want {
		t.Errorf("said %q, want %q", report.Error.Message, want)
	}

	desired.Avoid = ports(helperapi.FirstPort, held-1)
	report = do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
	wantReason(t, report, "")
	if mark := wantMark(t, report, helperapi.AgentRunning, 1); mark.Port <= held || scrape(mark.Port) == "" {
		t.Errorf("serves on %d, want a port above %d", mark.Port, held)
	}
	app.Unharmed()
}

// An agent that was given a port and has not yet answered is not given another one.
func TestAutomaticPortTold(t *testing.T) {
	cleanDirectory(t)
	stageAgent(t, nil, anyMBean, 0)
	dir, err := directoryOf(helperapi.Request{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	_, told := listen(t) // possibly by the agent
	running := &helperapi.Mark{State: helperapi.AgentRunning, Port: 4711}
	for name, test := range map[string]struct {
		mark    *helperapi.Mark
		jarOpen bool
		file    string
		tried   []int32
		keeps   int32 // 0: another one
	}{
		"running":            {running, true, fmt.Sprintf("port=%d", told), nil, 4711},
		"running, lost":      {running, true, "", []int32{4711}, 0},
		"starting":           {&helperapi.Mark{State: helperapi.AgentStarting}, true, fmt.Sprintf("port=%d", told), nil, told},
		"no mark":            {nil, true, fmt.Sprintf("port=%d", told), nil, told},
		"no mark, refused":   {nil, true, fmt.Sprintf("port=%d", told), []int32{told}, 0},
		"no mark, not told":  {nil, true, "", nil, 0},
		"no mark, told junk": {nil, true, "port=70000", nil, 0},
		"not there":          {nil, false, fmt.Sprintf("port=%d", told), nil, 0},
		"failed":             {&helperapi.Mark{State: helperapi.AgentFailed}, true, fmt.Sprintf("port=%d", told), nil, 0},
		"stopped":            {&helperapi.Mark{State: helperapi.AgentStopped}, true, fmt.Sprintf("port=%d", told), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "1-1.desired"), []byte(test.file), 0o644); err != nil {
				t.Fatal(err)
			}
			a := agentIn{dir: dir, file: "1-1.desired", mark: test.mark, jarOpen: test.jarOpen}
			a.process.PID = os.Getpid()
			got, err := a.port([]int32{told, 4711}, test.tried) // its own port may be reserved for others
			if err != nil {
				t.Fatal(err)
			}
			if test.keeps != 0 && got != test.keeps || test.keeps == 0 && (got < helperapi.FirstPort || got == told) {
				t.Errorf("got %d, want %d", got, test.keeps)
			}
		})
	}
}

// Ports in use are listed only on request: the kernel's effort grows with its connection
// table.
func TestPortsAreListedOnRequest(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := int32(listener.Addr().(*net.TCPAddr).Port)
	for _, verb := range []helperapi.Verb{helperapi.VerbInspect, helperapi.VerbStatus} {
		if ports := do(t, verb, helperapi.Request{Target: targetOf(t, app)}).ListeningPorts; len(ports) > 0 {
			t.Errorf("%s lists the ports %v that nobody asked for", verb, ports)
		}
		if ports := do(t, verb, helperapi.Request{Target: targetOf(t, app), ListeningPorts: true}).ListeningPorts; !slices.Contains(ports, port) {
			t.Errorf("%s lists the ports %v, not %d", verb, ports, port)
		}
	}
	app.Unharmed()
}
