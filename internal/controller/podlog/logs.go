package podlog

import (
	"context"
	"errors"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

const (
	// logTimeout limits reading one log.
	logTimeout = 3 * time.Second
	// maxRead limits what is read of a log. It is more than what is kept: the kubelet
	// cuts off the end at the limit, and the end is what counts.
	maxRead = 256 << 10
)

// ErrForbidden is returned if the operator may not read logs.
var ErrForbidden = errors.New("no right to read pods/log")

// Logs reads the logs of containers.
type Logs interface {
	// Tail returns the last lines of a container's log, or of its previous instance's.
	// It ends in bounded time. A missing log is not an error; ErrForbidden means that it
	// may not be read.
	Tail(ctx context.Context, pod types.NamespacedName, container string, lines int32, previous bool) (string, error)
}

// PodLogs reads logs from the API server.
type PodLogs struct {
	pods corev1client.PodsGetter
	seam effects.Seam
}

// NewPodLogs returns Logs whose reads pass through the seam.
func NewPodLogs(pods corev1client.PodsGetter, seam effects.Seam) *PodLogs {
	return &PodLogs{pods, seam}
}

// Tail implements Logs.
func (l *PodLogs) Tail(ctx context.Context, pod types.NamespacedName, container string, lines int32, previous bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	options := &corev1.PodLogOptions{
		Container: container, Previous: previous,
		TailLines: new(int64(lines)), LimitBytes: new(int64(maxRead)),
	}
	var log []byte
	effect := effects.Effect{Kind: effects.Logs, What: "tail", On: pod.String() + "/" + container}
	err := l.seam(ctx, effect, func(ctx context.Context) error {
		stream, err := l.pods.Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
		if err != nil {
			return err
		}
		defer stream.Close()
		log, err = io.ReadAll(io.LimitReader(stream, maxRead))
		return err
	})
	switch {
	case apierrors.IsForbidden(err):
		return "", ErrForbidden
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err):
		return "", nil // the pod is gone, or there is no such instance
	}
	return string(log), err
}
