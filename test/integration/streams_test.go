package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// streams are execs into the scripted containers, each of which already contains the
// helper: the layers above, with limits and timeouts, are the operator's own.
type streams struct{ *containers }

// Stream implements transport.Streams.
func (s streams) Stream(ctx context.Context, in transport.Container, _ []string, stdin io.Reader, stdout, _ io.Writer) error {
	from, to := bufio.NewReader(stdin), json.NewEncoder(stdout)
	uid, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	if c := s.get(types.UID(uid[:len(uid)-1]), in.Name); c != nil && c.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.serve(in, from, to)
}

// serve acts as the helper in a container.
func (cs *containers) serve(in transport.Container, from *bufio.Reader, to *json.Encoder) error {
	if err := to.Encode(helperapi.Answer{Hello: &helperapi.Hello{Version: "1"}}); err != nil {
		return err
	}
	for {
		call, err := helperapi.ReadCall(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer := helperapi.Answer{ID: call.ID}
		var blobs []transport.Blob
		if call.Verb == helperapi.VerbStage {
			for _, file := range call.Request.Files {
				answer.Send += file.Size
			}
			if err := to.Encode(answer); err != nil {
				return err
			}
			for _, file := range call.Request.Files {
				content := make([]byte, file.Size)
				if _, err := io.ReadFull(from, content); err != nil {
					return err
				}
				blobs = append(blobs, transport.Blob{File: file, Content: content})
			}
		}
		answer.Send = 0
		if answer.Report, err = cs.exec(in, call.Verb, call.Request, blobs); err != nil {
			known, ok := errors.AsType[*transport.Error](err)
			if !ok {
				known = &transport.Error{Reason: v1alpha1.ReasonHelperFailed, Message: err.Error()}
			}
			if answer.Report == nil {
				answer.Report = &helperapi.Report{}
			}
			answer.Report.Error = &helperapi.Error{Reason: helperapi.Reason(known.Reason), Message: known.Message}
		}
		if err := to.Encode(answer); err != nil {
			return err
		}
	}
}
