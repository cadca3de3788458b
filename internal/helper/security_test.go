//go:build linux

package helper

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// securityFile returns a security file with a new key, and the key as it is encoded
// there.
func securityFile(t *testing.T) (file helperapi.File, content []byte, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key = base64.StdEncoding.EncodeToString(der)
	content = []byte(url.Values{
		"certificate": {string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))},
		"key":         {key},
	}.Encode())
	return helperapi.NewFile("security-", content, ""), content, key
}

// serial returns the serial number of a port's certificate; 0 for plain HTTP.
func serial(t *testing.T, port int32) *big.Int {
	t.Helper()
	conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{InsecureSkipVerify: true}) // any certificate: its serial number is the result
	if err != nil {
		return new(big.Int)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber
}

func wantOwner(t *testing.T, name string, user int) {
	t.Helper()
	info, err := os.Lstat(filepath.Join(helperapi.AgentDirectory, name))
	if err != nil {
		t.Fatal(err)
	}
	if got := int(info.Sys().(*syscall.Stat_t).Uid); got != user || info.Mode() != 0o600 {
		t.Errorf("%s belongs to user %d with mode %v, want %d and 0600", name, got, info.Mode(), user)
	}
}

// A key is readable only by the JVM's user, is used, is replaced without a load, and is
// removed by the first load that does not refer to it.
func TestEndpointSecurity(t *testing.T) {
	jvmtest.NeedUsers(t)
	cleanDirectory(t)
	app := startOwners(t)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	var last string
	for range 2 {
		file, content, key := securityFile(t)
		for range 2 { // the second time, it exists already
			wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Target: target, Files: []helperapi.File{file}}, content), "")
			wantOwner(t, file.Name, owner)
		}
		desired.Security, desired.SecuritySHA256 = file.Name, file.SHA256
		report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
		wantReason(t, report, "")
		if mark := wantMark(t, report, helperapi.AgentRunning, 1); mark.SecuritySHA256 != file.SHA256 {
			t.Errorf("mark is %+v", mark)
		}
		if strings.Contains(fmt.Sprintf("%+v", report), key[40:60]) {
			t.Error("the report has the key in it")
		}
		certificate := serial(t, desired.Port)
		if certificate.Sign() == 0 || certificate.String() == last || scrape(desired.Port) != "" {
			t.Errorf("served is certificate %v after %s", certificate, last)
		}
		last = certificate.String()
		wantReason(t, do(t, helperapi.VerbStatus, helperapi.Request{Target: target}), "")
		if got := securityFiles(t); !slices.Equal(got, []string{file.Name}) {
			t.Errorf("keys that lie there: %v", got)
		}
	}

	desired.Security, desired.SecuritySHA256 = "", ""
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
	wantReason(t, report, "")
	if mark := wantMark(t, report, helperapi.AgentRunning, 1); mark.SecuritySHA256 != "" || scrape(desired.Port) == "" {
		t.Errorf("in the clear again, the mark is %+v", mark)
	}
	if got := securityFiles(t); len(got) > 0 {
		t.Errorf("keys that lie there: %v", got)
	}
	app.Unharmed()
}

func securityFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(names(t), func(name string) bool { return !strings.Contains(name, "security-") })
}

// A key that the agent cannot use is reported, and the endpoint is unchanged.
func TestSecurityRejected(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
	content := []byte("key=c2VjcmV0&certificate=none")
	file := helperapi.NewFile("security-", content, "")
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Target: target, Files: []helperapi.File{file}}, content), "")
	desired.Security, desired.SecuritySHA256 = file.Name, file.SHA256
	report := do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired})
	wantReason(t, report, helperapi.ReasonSecurityRejected)
	if strings.Contains(report.Error.Message, "c2VjcmV0") || scrape(desired.Port) == "" {
		t.Errorf("said %q, served %d bytes", report.Error.Message, len(scrape(desired.Port)))
	}
	app.Unharmed()
}

// A foreign file in a key's place is not used; staging replaces it with the key, without
// writing to the foreign file.
func TestPlantedSecurity(t *testing.T) {
	jvmtest.NeedUsers(t)
	for name, test := range map[string]struct {
		spoil  func(t *testing.T, file string)
		reason helperapi.Reason
	}{
		"another user's":   {func(t *testing.T, file string) { give(t, intruder, file) }, helperapi.ReasonAgentDirectoryNotTrusted},
		"root's":           {func(t *testing.T, file string) { give(t, 0, file) }, helperapi.ReasonStagingIncomplete},
		"readable by all":  {func(t *testing.T, file string) { chmod(t, file, 0o644) }, helperapi.ReasonAgentDirectoryNotTrusted},
		"by its group":     {func(t *testing.T, file string) { chmod(t, file, 0o640) }, helperapi.ReasonAgentDirectoryNotTrusted},
		"writable by all":  {func(t *testing.T, file string) { chmod(t, file, 0o622) }, helperapi.ReasonAgentDirectoryNotTrusted},
		"link to theirs":   {link, helperapi.ReasonAgentDirectoryNotTrusted},
		"another content":  {func(t *testing.T, file string) { overwrite(t, file) }, helperapi.ReasonStagingIncomplete},
		"not there at all": {remove, helperapi.ReasonStagingIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			cleanTheirs(t)
			app := startOwners(t)
			target := targetOf(t, app)
			desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
			file, content, _ := securityFile(t)
			desired.Security, desired.SecuritySHA256 = file.Name, file.SHA256
			stage := helperapi.Request{Target: target, Files: []helperapi.File{file}}
			wantReason(t, do(t, helperapi.VerbStage, stage, content), "")
			test.spoil(t, filepath.Join(helperapi.AgentDirectory, file.Name))
			wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), test.reason)
			if scrape(desired.Port) != "" || serial(t, desired.Port).Sign() != 0 {
				t.Error("something is served")
			}
			wantReason(t, do(t, helperapi.VerbStage, stage, content), "")
			wantOwner(t, file.Name, owner)
			wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
			if theirs, err := os.ReadFile(filepath.Join(theirs, "key")); err == nil && len(theirs) != 0 {
				t.Error("the key was written into the file of another user")
			}
			app.Unharmed()
		})
	}
}

func link(t *testing.T, file string) {
	remove(t, file)
	plant(t, theirs, intruder, map[string]string{"key": ""})
	if err := os.Symlink(filepath.Join(theirs, "key"), file); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, file string) {
	if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// A key that another JVM uses is kept when one agent is unloaded, and removed with the
// last.
func TestUnloadRemovesKey(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	target := targetOf(t, app)
	desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
	file, content, _ := securityFile(t)
	desired.Security, desired.SecuritySHA256 = file.Name, file.SHA256
	for _, others := range []struct {
		name string
		left []string
	}{{file.Name, []string{file.Name}}, {"security-000000000000", []string{}}} {
		wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Target: target, Files: []helperapi.File{file}}, content), "")
		wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
		other := pairs{"security": {filepath.Join(helperapi.AgentDirectory, others.name)}}
		if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "4000000-1.desired"), []byte(other.Encode()), 0o644); err != nil {
			t.Fatal(err)
		}
		wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
		if got := securityFiles(t); !slices.Equal(got, others.left) {
			t.Errorf("beside a JVM with %s, left are %v", others.name, got)
		}
		stageAgent(t, nil, anyMBean, desired.Port)
	}

	// The key of a process that has exited is removed with its files.
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{file}}, content), "")
	other := pairs{"security": {filepath.Join(helperapi.AgentDirectory, file.Name)}}
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, "4000000-1.desired"), []byte(other.Encode()), 0o644); err != nil {
		t.Fatal(err)
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: &helperapi.Target{PID: 4000000, StartTime: 1}}), "")
	if got := securityFiles(t); len(got) > 0 {
		t.Errorf("left are %v", got)
	}
	app.Unharmed()
}

// An agent without support for security never counts as serving with it.
func TestServesSecurity(t *testing.T) {
	mark := func(security string) *helperapi.Mark {
		return &helperapi.Mark{State: helperapi.AgentRunning, Port: 1, SecuritySHA256: security}
	}
	for _, test := range []struct {
		served, desired string
		want            bool
	}{{"", "", true}, {"a", "a", true}, {"", "a", false}, {"a", "", false}, {"a", "b", false}} {
		d := helperapi.Desired{Port: 1, Security: "security-" + test.desired, SecuritySHA256: test.desired}
		if got := serves(mark(test.served), d); got != test.want {
			t.Errorf("served %q, desired %q: %v", test.served, test.desired, got)
		}
	}
	old := agentIn{mark: mark("")}
	if err := typed(old.verdict(helperapi.Desired{Port: 1, SecuritySHA256: "a"})); err.Reason != helperapi.ReasonAgentFailed || !strings.Contains(err.Message, "in the clear") {
		t.Errorf("said %v", err)
	}
}

// A probe of TLS only connects.
func TestProbeTLS(t *testing.T) {
	l, port := listen(t)
	probe := helperapi.Request{Probe: &helperapi.Endpoint{Port: port, Path: "/metrics", TLS: true}}
	wantReason(t, do(t, helperapi.VerbProbe, probe), "")
	l.Close()
	wantReason(t, do(t, helperapi.VerbProbe, probe), helperapi.ReasonEndpointNotServing)
}
