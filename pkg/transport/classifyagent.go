package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// classifyAgent converts the end of an exec into a node agent into an *Error for the
// conversations that used it. What classify says would be about the target: its pod is not
// gone because the agent's is. begun means that the command in the agent has run.
func classifyAgent(err error, stderr string, begun bool) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	says := ""
	if stderr != "" {
		says = ": " + stderr
	}
	var status apierrors.APIStatus
	switch {
	case begun:
		return &Error{v1alpha1.ReasonExecFailed, "The session with the node agent was lost; another one is opened.", err}
	case err == nil:
		return &Error{v1alpha1.ReasonHelperFailed, "The node agent ended the session before it answered" + says + ".", err}
	case apierrors.IsNotFound(err):
		return &Error{v1alpha1.ReasonNodeAgentPending, "The node agent's pod is gone; waiting for the next one.", err}
	case rbacDenied.MatchString(err.Error()):
		return &Error{v1alpha1.ReasonExecForbidden, "RBAC does not let the operator exec into its node agents: it needs get and create on pods/exec in its own namespace. Apply config/node (the chart's node.enabled), whose Role jmx-exporter-operator-node grants both.", err}
	case denied(err):
		return &Error{v1alpha1.ReasonExecRefused, "An admission policy denied the exec into the node agent: " + text.Denial(err) + ". If it is one of the operator's own, apply config/node of the operator's release, whose policies admit it; else exempt the operator's service account in its own namespace.", err}
	case exitCode(err) >= 0:
		return &Error{v1alpha1.ReasonHelperFailed, "The session in the node agent failed" + says + ".", err}
	case errors.As(err, &status):
		return &Error{v1alpha1.ReasonExecFailed, "The exec into the node agent failed: " + text.Line(status.Status().Message, 200) + ".", err}
	}
	return &Error{v1alpha1.ReasonExecFailed, "The exec into the node agent was interrupted.", err}
}

// agentNotResponding is the error of an agent that says nothing.
func agentNotResponding(err error) *Error {
	return &Error{v1alpha1.ReasonContainerNotResponding, fmt.Sprintf("The node agent did not answer within %s: it or its node hangs, or is starved of CPU.", helloTimeout), errors.Join(errNotReached, err)}
}

// errNotReached is in the error of a session that did not get as far as its container.
var errNotReached = errors.New("the container was not reached")

// ErrNotOpened is in the cause of the *Error with which Node.Open fails if the node agent, or the
// way to it, has failed before the agent served the container: nothing was executed in that.
var ErrNotOpened = errors.New("the node agent opened no session")

// notOpened adds ErrNotOpened to the failure of Node.Open if it is the agent's.
func notOpened(err error) error {
	known, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	switch known.Reason {
	case v1alpha1.ReasonExecFailed, v1alpha1.ReasonHelperFailed, v1alpha1.ReasonHelperKilled, v1alpha1.ReasonNodeAgentPending:
	case v1alpha1.ReasonContainerNotResponding:
		if !errors.Is(err, errNotReached) {
			return err
		}
	default:
		return err
	}
	if known.Err == nil {
		return &Error{known.Reason, known.Message, ErrNotOpened}
	}
	return &Error{known.Reason, known.Message, fmt.Errorf("%w: %w", ErrNotOpened, known.Err)}
}

// classifyConversation converts the failure of a conversation through a node agent into an
// *Error. What classify says would be about an exec into the container.
func classifyConversation(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	reset, broken := errors.AsType[*mux.ResetError](err)
	_, garbled := errors.AsType[*mux.ProtocolError](err)
	switch {
	case errors.Is(err, errNotResponding):
		return &Error{v1alpha1.ReasonContainerNotResponding, fmt.Sprintf("The node agent's helper for the container said nothing within %s: processes of the container hang, or the node is starved of CPU.", helloTimeout), err}
	case broken:
		return &Error{v1alpha1.ReasonExecFailed, "The node agent broke off the conversation about the container: " + text.Line(cmp.Or(reset.Reason, "without a reason"), 200) + ".", err}
	case garbled:
		return &Error{v1alpha1.ReasonHelperFailed, "The session with the node agent cannot be read; check that its image is the operator's own.", err}
	case errors.Is(err, mux.ErrWriteTimeout):
		return &Error{v1alpha1.ReasonContainerNotResponding, "The node agent takes nothing any more: it or its node hangs, or is starved of CPU.", errors.Join(errNotReached, err)}
	case errors.Is(err, wire.ErrOutputTooLarge), errors.Is(err, helperapi.ErrLineTooLong):
		return &Error{v1alpha1.ReasonHelperFailed, "The output of the node agent exceeded the limit; check that its image is the operator's own.", err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{v1alpha1.ReasonExecTimeout, "The node agent's helper for the container did not answer in time.", err}
	case errors.Is(err, wire.ErrEnded):
		return &Error{v1alpha1.ReasonHelperFailed, "The node agent's helper for the container exited before it answered.", err}
	}
	return &Error{v1alpha1.ReasonExecFailed, "The session with the node agent was interrupted.", err}
}
