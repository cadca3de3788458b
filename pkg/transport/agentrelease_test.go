package transport

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A node agent of another release attaches to nothing, since it has other jars; it can be
// asked what there is, and to detach. The exec into it serves others.
func TestNodeAgentOfAnotherRelease(t *testing.T) {
	jar, exporter, former := NewBlob("agent-", []byte("agent"), ".jar"), NewBlob("exporter-", []byte("exporter"), ".jar"), NewBlob("exporter-", []byte("former"), ".jar")
	both := []helperapi.File{exporter.File, jar.File}
	for name, tc := range map[string]struct {
		files   []helperapi.File
		purpose Purpose
		refused bool
	}{
		"the same":                           {both, PurposeAttach, false},
		"another implementation":             {[]helperapi.File{jar.File, former.File}, PurposeAttach, true},
		"another implementation, to inspect": {[]helperapi.File{jar.File, former.File}, PurposeInspect, false},
		"another implementation, to detach":  {[]helperapi.File{jar.File, former.File}, PurposeDetach, false},
		"another agent":                      {[]helperapi.File{former.File, exporter.File}, PurposeAttach, true},
		"no jars":                            {nil, PurposeAttach, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				line, err := json.Marshal(helperapi.Answer{Hello: &helperapi.Hello{Version: "1", Files: tc.files}})
				if err != nil {
					t.Fatal(err)
				}
				streams := &execs{Streams: agentsWith(acts(prints(string(line)+"\n"), answers(1, "{}"), untilEnd))}
				n := aNode(t, streams)
				n.exec.artifacts = &Artifacts{Agent: jar, Implementation: exporter}
				in := viaNode
				in.Origin.Purpose = tc.purpose
				sessions := NewSessions(n)
				_, err = sessions.Run(t.Context(), in, helperapi.VerbInspect, helperapi.Request{})
				if errors.Is(err, ErrAgentRelease) != tc.refused {
					t.Errorf("got %v", err)
				}
				if errors.Is(err, ErrNotOpened) != tc.refused {
					t.Errorf("%v is the agent's own failure: want %t", err, tc.refused)
				}
				if tc.refused {
					wantError(t, err, v1alpha1.ReasonNodeAgentPending, "another release")
				} else {
					wantError(t, err, "", "")
				}
				sessions.Close()
				wantFree(t, n.exec.limits)
				streams.want(t, "node-1", 1, 1)
			})
		})
	}
}
