package podcache

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// securityContext returns privileged mode and added capabilities; nil if there are none.
func securityContext(all *corev1.SecurityContext) *corev1.SecurityContext {
	if all == nil {
		return nil
	}
	kept := &corev1.SecurityContext{}
	if ptr.Deref(all.Privileged, false) {
		kept.Privileged = new(true)
	}
	if all.Capabilities != nil && len(all.Capabilities.Add) > 0 {
		kept.Capabilities = &corev1.Capabilities{Add: all.Capabilities.Add}
	}
	if *kept == (corev1.SecurityContext{}) {
		return nil
	}
	return kept
}
