package funcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// auditFile is the log of kind-config.yaml, where a kubelet serves it.
const auditFile = "logs/kubernetes/audit.log"

// auditEvent is what counts of a request of the operator's.
type auditEvent struct {
	Verb           string
	ObjectRef      *struct{ Resource, Subresource, Namespace string }
	ResponseStatus struct{ Code int }
}

// resource is what the request is about, such as pods/exec.
func (e auditEvent) resource() string {
	return strings.TrimSuffix(e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")
}

// audit shows the operator's requests for resources since the cluster was made. It reports
// whether there is an audit log.
func (c *cluster) audit(ctx context.Context, show func(auditEvent)) (found bool, err error) {
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes, client.HasLabels{"node-role.kubernetes.io/control-plane"}); err != nil {
		return false, err
	}
	for _, node := range nodes.Items {
		log, err := c.kube.CoreV1().RESTClient().Get().Resource("nodes").Name(node.Name).SubResource("proxy").Suffix(auditFile).Stream(ctx)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return found, err
		}
		found = true
		err = readAudit(log, show)
		if err := errors.Join(err, log.Close()); err != nil {
			return found, fmt.Errorf("the audit log of %s: %w", node.Name, err)
		}
	}
	return found, nil
}

// readAudit shows the requests of an audit log, of which the last line may be half written.
func readAudit(log io.Reader, show func(auditEvent)) error {
	for decoder := json.NewDecoder(log); ; {
		var event auditEvent
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if event.ObjectRef != nil { // nil of what is no resource, such as discovery
			show(event)
		}
	}
}
