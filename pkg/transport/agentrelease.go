package transport

import (
	"errors"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// ErrAgentRelease is the cause of the *Error, of ReasonNodeAgentPending, with which Node.Open
// fails where the node agent runs another release than the operator, as while its DaemonSet
// is rolled out. Nothing was executed in the container. The next agent of the node may be of
// the right release.
var ErrAgentRelease = errors.New("the node agent runs another release than the operator")

// checkRelease refuses a session that attaches if the node agent does not have the operator's
// jars: it would stage and load no others. A session that only inspects or detaches needs
// none, and its operations are the same in all releases (helperapi): a deletion waits for no
// rollout.
func (a *Artifacts) checkRelease(purpose Purpose, hello helperapi.Hello) error {
	if purpose != PurposeAttach {
		return nil
	}
	for _, jar := range []Blob{a.Agent, a.Implementation} {
		if jar.SHA256 != "" && !slices.Contains(hello.Files, jar.File) {
			return &Error{v1alpha1.ReasonNodeAgentPending, "The node agent runs another release than the operator; waiting for the rollout of its DaemonSet.", ErrAgentRelease}
		}
	}
	return nil
}
