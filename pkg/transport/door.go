package transport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Door opens sessions in ephemeral containers, called doors. A door runs the operator's
// image, which holds the helper and the agent's jars, in the PID namespace of its target
// container and as its user. If there is none, Door adds one. Nothing is executed in the
// target, which needs no shell. A Door is safe for concurrent use.
type Door struct {
	exec *Exec
	pods Pods
	DoorOptions
}

// Pods reads pods from the API server, bypassing any cache, and adds ephemeral containers
// to them. Implementations are safe for concurrent use.
type Pods interface {
	// Live returns the pod as the API server has it.
	Live(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// AddEphemeralContainer adds c to exactly this pod, never to a later pod of the same
	// name. If the pod has it already, that is not an error.
	AddEphemeralContainer(ctx context.Context, pod *corev1.Pod, c *corev1ac.EphemeralContainerApplyConfiguration) error
}

// NewDoor returns a Door that opens its sessions through exec.
func NewDoor(exec *Exec, pods Pods, o DoorOptions) *Door {
	return &Door{exec: exec, pods: pods, DoorOptions: o}
}

// Open implements Dialer. It fails with ReasonDoorPending until the ephemeral container
// runs, or with the reason why it will never run.
func (d *Door) Open(ctx context.Context, in Container) (Session, error) {
	if d.Image == "" {
		return nil, &Error{Reason: v1alpha1.ReasonDoorRefused, Message: "The operator does not know its own image; set its flag --door-image."}
	}
	if in.ID == "" {
		return nil, &Error{Reason: v1alpha1.ReasonContainerNotRunning, Message: "The container is not running."}
	}
	name, err := doorsOf(in.Object, d.stem(in)).running()
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, d.add(ctx, in)
	}
	door := in
	door.Name = name
	s, err := d.exec.start(ctx, door, DoorCommand(), awaitHello(errNoHello))
	if err != nil {
		return nil, classify(err)
	}
	s.target = in.runtimeID()
	s.hello.ContainerID = "" // it is the door's ID, not the target's
	return s, nil
}

// stem returns the prefix of the names of the doors for one container instance, image,
// user and set of helpers. It is deterministic, so that an operator finds its door again
// after a crash.
func (d *Door) stem(in Container) string {
	sum := sha256.New()
	fmt.Fprint(sum, in.ID, " ", d.Image, " ", in.User)
	for _, machine := range []string{"x86_64", "aarch64"} {
		fmt.Fprint(sum, " ", d.exec.artifacts.Helpers[machine].SHA256)
	}
	return DoorPrefix + hex.EncodeToString(sum.Sum(nil)[:4]) + "-"
}

// DoorCommand returns the command of a session in a door. It contains no digests: the
// helper stages and loads the jars of its own image.
func DoorCommand() []string {
	return []string{helperapi.DoorProgram, string(helperapi.VerbServe), helperapi.ServeInDoor}
}

var errNoHello = &Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The ephemeral container does not run the helper; check that the flag --door-image names the operator's own image."}

// add adds a door unless the live pod has one: a stale cache must not lead to a second
// door. It always returns an error, which is errDoorPending if it succeeded.
func (d *Door) add(ctx context.Context, in Container) error {
	pod, err := d.pods.Live(ctx, in.Namespace, in.Pod)
	if err != nil {
		return classifyDoor(err)
	}
	if pod.UID != in.Object.UID {
		return &Error{Reason: v1alpha1.ReasonPodGone, Message: "The pod is gone."}
	}
	doors := doorsOf(pod, d.stem(in))
	name, err := doors.running()
	if name == "" && err == nil {
		err = d.addTo(ctx, pod, in, doors)
	}
	if err != nil {
		return err
	}
	return errDoorPending
}

func (d *Door) addTo(ctx context.Context, pod *corev1.Pod, in Container, doors doors) error {
	name, err := doors.next(in.Last)
	if err != nil {
		return err
	}
	c, err := d.ephemeralContainer(pod, in, name)
	if err != nil {
		return err
	}
	return classifyDoor(d.pods.AddEphemeralContainer(ctx, pod, c))
}

// classifyDoor converts the failure to add an ephemeral container into an *Error.
func classifyDoor(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return &Error{v1alpha1.ReasonPodGone, "The pod is gone.", err}
	case strings.Contains(err.Error(), `"pods/ephemeralcontainers"`) && apierrors.IsForbidden(err) && !text.Denied(err):
		return &Error{v1alpha1.ReasonDoorForbidden, "RBAC does not let the operator add ephemeral containers in this namespace: it needs patch on pods/ephemeralcontainers.", err}
	case denied(err), apierrors.IsInvalid(err):
		return &Error{v1alpha1.ReasonDoorRefused, "Adding the ephemeral container was denied: " + text.Denial(err) + ".", err}
	}
	return &Error{v1alpha1.ReasonAPIError, "Adding the ephemeral container failed; retrying.", err}
}
