package attachment

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Annotations that the operator removes because their JVM is gone were not removed by anyone
// else: applying them for the next JVM is no restore.
func TestWithdrawForgetsRestores(t *testing.T) {
	b, s := aBench(), servingPod()
	s.Pod.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: string(records.OwnerPodAnnotations), Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:%s":{}}}}`, v1alpha1.AnnotationPort)),
	}}
	s.Status().Restores = &v1alpha1.Restores{Count: 4, LastTime: s.Now}
	for _, gone := range []bool{false, true} {
		if gone {
			s.Drop(func(*v1alpha1.JavaProcess) bool { return true })
			s.Status().Containers[0].Time = new(s.Now)
			s.Published = nil
		}
		b.of(s).move(t, steps.Regress)
		if forgotten := s.Status().Restores == nil; forgotten != gone {
			t.Errorf("JVM gone: %t; restores reset: %t", gone, forgotten)
		}
	}
}
