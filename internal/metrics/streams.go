package metrics

import (
	"context"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// CountStreams returns Streams whose bytes are counted.
func CountStreams(streams transport.Streams) transport.Streams { return countedStreams{streams} }

type countedStreams struct{ transport.Streams }

// Stream implements transport.Streams.
func (s countedStreams) Stream(ctx context.Context, in transport.Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	sent, received := execBytes.WithLabelValues("sent"), execBytes.WithLabelValues("received")
	return s.Streams.Stream(ctx, in, command, io.TeeReader(stdin, counter{sent}), io.MultiWriter(counter{received}, stdout), io.MultiWriter(counter{received}, stderr))
}

type counter struct{ bytes prometheus.Counter }

// Write implements io.Writer.
func (c counter) Write(p []byte) (int, error) {
	c.bytes.Add(float64(len(p)))
	return len(p), nil
}
