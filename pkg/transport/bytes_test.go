package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// TestBytesSent checks what passes through the API server: requests and the configuration
// for an ephemeral container, and also the helper and the jars for the first session by
// exec.
func TestBytesSent(t *testing.T) {
	content := func(size int) []byte { return bytes.Repeat([]byte("x"), size) }
	agent, implementation := NewBlob("agent-", content(30<<10), ".jar"), NewBlob("exporter-", content(700<<10), ".jar")
	config, helper := NewBlob("config-", content(2<<10), ".yaml"), NewBlob("jmx-attach-", content(3<<20), "")
	const requests = 4 << 10 // at most
	for name, tc := range map[string]struct {
		has         []helperapi.File // next to the helper
		asks        string           // printed before the hello
		open        func(*testing.T, Streams) (Session, error)
		least, most int64
	}{
		"an ephemeral container": {
			has: []helperapi.File{agent.File, implementation.File},
			open: func(t *testing.T, streams Streams) (Session, error) {
				pods := &apiPods{pod: aPod()}
				d := aDoor(pods, streams)
				pods.has(d.stem(behind(pods.pod))+"1", runs)
				return d.Open(t.Context(), behind(pods.pod))
			},
			least: config.Size, most: config.Size + requests,
		},
		"a node agent": {
			has: []helperapi.File{agent.File, implementation.File},
			open: func(t *testing.T, streams Streams) (Session, error) {
				c := streams.(*counting)
				c.Streams = agentsWith(c.Streams)
				n := aNode(t, streams)
				return n.Open(t.Context(), viaNode)
			},
			least: config.Size, most: config.Size + requests,
		},
		"exec": {
			asks: "\njmx-attach send x86_64\n",
			open: func(t *testing.T, streams Streams) (Session, error) {
				e := anExec(streams)
				e.artifacts.Helpers["x86_64"] = helper
				return e.Open(t.Context(), app)
			},
			least: helper.Size + agent.Size + implementation.Size + config.Size,
			most:  helper.Size + agent.Size + implementation.Size + config.Size + requests,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent := &counting{Streams: converses(tc.asks, helper.Size, tc.has)}
			session, err := tc.open(t, sent)
			if err != nil {
				t.Fatal(err)
			}
			target := &helperapi.Target{PID: 7, StartTime: 11}
			files := []helperapi.File{agent.File, implementation.File, config.File}
			for _, call := range []struct {
				verb    helperapi.Verb
				request helperapi.Request
				blobs   []Blob
			}{
				{verb: helperapi.VerbInspect},
				{helperapi.VerbStage, helperapi.Request{Files: files}, []Blob{agent, implementation, config}},
				{verb: helperapi.VerbLoad, request: helperapi.Request{Target: target, Desired: &helperapi.Desired{Port: 9400}}},
				{verb: helperapi.VerbStatus, request: helperapi.Request{Target: target}},
			} {
				if _, err := session.Run(t.Context(), call.verb, call.request, call.blobs...); err != nil {
					t.Fatalf("%s: %v", call.verb, err)
				}
			}
			session.Close()
			if sent.bytes < tc.least || sent.bytes > tc.most {
				t.Errorf("%d bytes were sent, want %d to %d", sent.bytes, tc.least, tc.most)
			}
		})
	}
}

// counting counts the bytes that are sent.
type counting struct {
	Streams
	bytes int64
}

// Stream implements Streams.
func (c *counting) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return c.Streams.Stream(ctx, in, command, io.TeeReader(stdin, c), stdout, stderr)
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

// converses asks for the helper if asks is set. It answers each call with an empty report
// after it has received the files of the call that it does not have.
func converses(asks string, helper int64, has []helperapi.File) act {
	return func(_ context.Context, stdin *bufio.Reader, stdout, _ io.Writer) error {
		if asks != "" {
			if _, err := stdin.ReadBytes('\n'); err != nil { // the pod's UID
				return err
			}
			if _, err := io.WriteString(stdout, asks); err != nil {
				return err
			}
			if _, err := io.CopyN(io.Discard, stdin, 1+helper); err != nil {
				return err
			}
		}
		beside, err := json.Marshal(has)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(stdout, `{"hello":{"version":"1","files":%s}}`+"\n", beside); err != nil {
			return err
		}
		for {
			call, err := helperapi.ReadCall(stdin)
			if err != nil {
				return nil //nolint:nilerr // the session was closed
			}
			var missing int64
			for _, f := range call.Request.Files {
				if !slices.Contains(has, f) {
					missing += f.Size
				}
			}
			if missing > 0 {
				if _, err := fmt.Fprintf(stdout, `{"id":%d,"send":%d}`+"\n", call.ID, missing); err != nil {
					return err
				}
				if _, err := io.CopyN(io.Discard, stdin, missing); err != nil {
					return err
				}
			}
			if _, err := fmt.Fprintf(stdout, `{"id":%d,"report":{}}`+"\n", call.ID); err != nil {
				return err
			}
		}
	}
}
