package transport

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// maxContainers limits the sessions of one Present: those with the containers of a pod.
const maxContainers = 64

// Present opens sessions with the helpers that are in containers already. It installs
// nothing and adds no ephemeral container, so it needs no right but create on pods/exec.
type Present struct{ exec *Exec }

// NewPresent returns a Present that runs its commands by streams.
func NewPresent(streams Streams) *Present {
	return &Present{NewExec(streams, &Artifacts{}, effects.Direct, NewLimits(maxContainers, maxContainers, maxContainers))}
}

// Open implements Dialer. It fails with ReasonHelperFailed if there is no helper in the
// container, with ReasonNodeAgentRefused if the operator uses a node agent instead of one, and
// with ReasonDoorPending if no door of the container runs.
func (p *Present) Open(ctx context.Context, in Container) (Session, error) {
	switch in.Transport { //nolint:exhaustive // by exec otherwise
	case v1alpha1.TransportEphemeralContainer:
		return p.openDoor(ctx, in)
	case v1alpha1.TransportNode:
		return nil, &Error{Reason: v1alpha1.ReasonNodeAgentRefused, Message: fmt.Sprintf("The operator reaches container %s by a node agent, which leaves no helper in it and serves the operator alone; spec.transport Exec or EphemeralContainer leaves one.", in.Name)}
	}
	s, err := p.exec.start(ctx, in, []string{"sh", "-c", presentScript}, p.exec.greet)
	if exitCode(err) == exitHelperMissing {
		return nil, &Error{v1alpha1.ReasonHelperFailed, fmt.Sprintf("There is no helper of the operator in %s of container %s.", helperapi.AgentDirectory, in.Name), err}
	}
	if err != nil {
		return nil, classify(err)
	}
	return s, nil
}

func (p *Present) openDoor(ctx context.Context, in Container) (Session, error) {
	door := in
	door.Name = runningDoor(in.Object, in.Name)
	if door.Name == "" {
		return nil, &Error{Reason: v1alpha1.ReasonDoorPending, Message: fmt.Sprintf("No ephemeral container of the operator runs beside container %s.", in.Name)}
	}
	s, err := p.exec.start(ctx, door, DoorCommand(), awaitHello(errNoHello))
	if err != nil {
		return nil, classify(err)
	}
	s.target = in.runtimeID()
	s.hello.ContainerID = "" // it is the door's ID, not the target's
	return s, nil
}

// runningDoor returns the name of a door of a container that runs; empty if there is none.
func runningDoor(pod *corev1.Pod, container string) string {
	running := map[string]bool{}
	for _, s := range pod.Status.EphemeralContainerStatuses {
		running[s.Name] = s.State.Running != nil
	}
	name := ""
	for _, c := range pod.Spec.EphemeralContainers {
		if IsDoor(c.Name) && c.TargetContainerName == container && running[c.Name] {
			name = c.Name
		}
	}
	return name
}

// presentScript holds a session with the helper that was installed last, if it
// lies in a directory that script would trust. The helper may stage and load no jar.
var presentScript = prelude + `read -r uid flags
enter || { there && end $not_trusted; end $helper_missing; }
set -f
for helper in $(ls -t); do
  case $helper in jmx-attach-????????????) ;; *) continue ;; esac
  trusted - "./$helper" || continue
  echo
  "./$helper" serve
  code=$?
  [ $code -eq 0 ] || end $code
  exit 0
done
end $helper_missing`
