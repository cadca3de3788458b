package steps

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// TransportOf returns the transport for an exporter that asks for one, limited by the
// transport that the operator is allowed to use. The result is Auto if each container
// decides.
func TransportOf(asked, allowed v1alpha1.Transport) v1alpha1.Transport {
	if asked == "" || asked == v1alpha1.TransportAuto {
		return cmp.Or(allowed, v1alpha1.TransportAuto)
	}
	return asked
}

// NodeAgent is what is known of the node agent on a pod's node. The zero NodeAgent means that
// there is none.
type NodeAgent struct {
	// Ready reports whether it can be asked.
	Ready bool
	// Awaited reports whether it is not ready, and may be within a short time: its pod was first
	// seen, or it was ready, a short time ago, as during its update.
	Awaited bool
	// AwaitedFor is how long it is still awaited; 0 if it is not.
	AwaitedFor time.Duration
	// UID is that of its pod if it is ready. Otherwise it is that of the pod that was ready last,
	// as long as the next one is awaited, or is there and not ready.
	UID types.UID
}

// key returns what of the node agent an attempt depends on that uses the transport: which one
// it is, since what one refused or failed at, the next one may do: it has other flags, or is of
// another release. While the next one is awaited, that is the one before, so that a restart
// leads to one more try and not to two, of which the first would only find that there is none.
func (a NodeAgent) key(way v1alpha1.Transport) string {
	if way != v1alpha1.TransportNode && way != v1alpha1.TransportAuto {
		return ""
	}
	return string(a.UID)
}
