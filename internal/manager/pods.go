package manager

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// Pods reads pods from the API server, and adds ephemeral containers to them. It is
// safe for concurrent use.
type Pods struct {
	*records.Writer
	reader client.Reader
}

// +kubebuilder:rbac:groups="",resources=pods/ephemeralcontainers,verbs=patch

// NewPods returns Pods for the API server of config, whose writes pass through the seam.
func NewPods(config *rest.Config, seam effects.Seam) (*Pods, error) {
	c, err := client.New(config, client.Options{Scheme: scheme()})
	if err != nil {
		return nil, err
	}
	return &Pods{records.New(apply.New(c, seam)), c}, nil
}

// Live implements transport.Pods.
func (p *Pods) Live(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	if err := p.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod); err != nil {
		return nil, err
	}
	return &pod, nil
}

// containerName is the name of the operator's container in its own pod (config/manager).
const containerName = "manager"

// ErrNoPod is returned if the operator's own pod is unknown.
var ErrNoPod = errors.New("POD_NAMESPACE and POD_NAME do not name the operator's pod")

// OwnImage returns the image of the operator's own pod, as named by POD_NAMESPACE and
// POD_NAME.
func (p *Pods) OwnImage(ctx context.Context) (string, error) {
	namespace, name := os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME")
	if namespace == "" || name == "" {
		return "", ErrNoPod
	}
	pod, err := p.Live(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == containerName {
			return c.Image, nil
		}
	}
	return "", fmt.Errorf("pod %s/%s has no container %s", namespace, name, containerName)
}
