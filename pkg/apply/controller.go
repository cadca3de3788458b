package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ControllerReference returns the owner reference of an object that another one of the
// given kind controls. The object is deleted with its controller.
func ControllerReference(controller client.Object, kind schema.GroupVersionKind) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().WithAPIVersion(kind.GroupVersion().String()).WithKind(kind.Kind).
		WithName(controller.GetName()).WithUID(controller.GetUID()).WithController(true).WithBlockOwnerDeletion(true)
}
