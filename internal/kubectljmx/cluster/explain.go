package cluster

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// installPage says how to install the operator.
const installPage = "https://github.com/banzaicloud/jmx-exporter-operator/blob/main/docs/operations.md#install"

// ErrNotInstalled means that the API server does not have the operator's kinds.
var ErrNotInstalled = errors.New("the CRDs of the JMX exporter operator are not installed in this cluster; install it (" + installPage + "), or choose another cluster with --context")

// Explain adds to an error of the API server what to do about it.
func Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err):
		return ErrNotInstalled
	case apierrors.IsForbidden(err) && text.Denied(err):
		return fmt.Errorf("an admission policy denied this; see who may do it with: kubectl get validatingadmissionpolicies: %w", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; kubectl jmx has no rights but yours: ask whoever manages roles in this cluster for this one (kubectl auth can-i --list shows those that you have)", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w; the API server does not accept the credentials of this kubeconfig: log in again, or choose another with --context or --kubeconfig", err)
	}
	return err
}
