package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Requests in a door name the target container, and files that the door has are not sent.
func TestDoorSession(t *testing.T) {
	pods := &apiPods{pod: aPod()}
	agent, config := NewBlob("agent-", []byte("a jar"), ".jar"), NewBlob("config-", []byte("rules"), ".yaml")
	file, err := json.Marshal(agent.File)
	if err != nil {
		t.Fatal(err)
	}
	var call helperapi.Call
	d := aDoor(pods, acts(
		prints(`{"hello":{"version":"1","containerID":"`+strings.Repeat("cd", 32)+`","files":[`+string(file)+`]}}`+"\n"),
		func(_ context.Context, stdin *bufio.Reader, stdout, _ io.Writer) error {
			line, err := stdin.ReadBytes('\n')
			if err != nil {
				return err
			}
			if err := json.Unmarshal(line, &call); err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, `{"id":1,"send":%d}`+"\n", config.Size)
			return err
		},
		reads("rules"),
		prints(`{"id":1,"report":{"files":[]}}`+"\n"), untilEnd))
	pods.has(d.stem(behind(pods.pod))+"1", runs)
	sessions := NewSessions(d)
	defer sessions.Close()
	_, err = sessions.Run(t.Context(), behind(pods.pod), helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{agent.File, config.File}}, agent, config)
	if err != nil {
		t.Fatal(err)
	}
	if call.Request.ContainerID != strings.Repeat("ab", 32) || len(call.Request.Files) != 2 {
		t.Errorf("the request is %+v", call.Request)
	}
}

// A helper that would misread a rule does not get it: an older one in a door takes a rule for
// names of options for one that matches every process.
func TestOldDoor(t *testing.T) {
	for hello, want := range map[string]string{
		`{"hello":{"version":"1"}}`:                    v1alpha1.ReasonHelperFailed,
		`{"hello":{"version":"1","optionNames":true}}`: "",
	} {
		pods := &apiPods{pod: aPod()}
		var got []byte
		d := aDoor(pods, acts(prints(hello+"\n"),
			func(_ context.Context, stdin *bufio.Reader, _, _ io.Writer) (err error) {
				got, err = stdin.ReadBytes('\n')
				return err
			},
			prints(`{"id":1,"report":{}}`+"\n"), untilEnd))
		pods.has(d.stem(behind(pods.pod))+"1", runs)
		sessions := NewSessions(d)
		_, err := sessions.Run(t.Context(), behind(pods.pod), helperapi.VerbInspect, helperapi.Request{
			Rules: []helperapi.ProcessRule{{Action: helperapi.RuleExclude, OptionName: "-Da"}},
		})
		sessions.Close()
		if want != "" {
			wantError(t, err, want, "older than the operator")
		}
		if (err == nil) != (want == "") || (len(got) > 0) != (want == "") {
			t.Errorf("%s: got request %q with error %v", hello, got, err)
		}
	}
}

// A detach may add the last door of a pod.
func TestLastDoor(t *testing.T) {
	pods := &apiPods{pod: aPod()}
	for name, state := range many(7) {
		pods.has(name, state)
	}
	in := behind(pods.pod)
	in.Last = true
	_, err := aDoor(pods, nil).Open(t.Context(), in)
	wantError(t, err, v1alpha1.ReasonDoorPending, "")
	if len(pods.added) != 1 {
		t.Errorf("%d doors were added", len(pods.added))
	}
}

// Each user has its own session: a door of another user cannot inspect the JVM.
func TestSessionsByUser(t *testing.T) {
	opened := 0
	sessions := NewSessions(dialerFunc(func(context.Context, Container) (Session, error) {
		opened++
		return withoutJava{}, nil
	}))
	in := Container{Name: "app", Transport: v1alpha1.TransportEphemeralContainer}
	for _, user := range []*User{nil, nil, {5, 6}, {5, 6}} {
		in.User = user
		if err := sessions.Open(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if opened != 2 {
		t.Errorf("%d sessions were opened, want one for each user", opened)
	}
}

type dialerFunc func(context.Context, Container) (Session, error)

// Open implements Dialer.
func (f dialerFunc) Open(ctx context.Context, in Container) (Session, error) { return f(ctx, in) }
