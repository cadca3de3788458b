package integration

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// objectFields are those of the other objects that the operator writes.
func (t *target) objectFields() []written {
	service := corev1.Service{ObjectMeta: t.metaOf(t.service, "other-jmx-0123abcd"), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "metrics", Port: 9400}},
	}}
	slice := *t.slice.DeepCopy()
	slice.ObjectMeta = t.metaOf(t.slice, t.slice.Name+"1")
	revision := *t.revision().DeepCopy()
	revision.ObjectMeta = t.metaOf(t.revision(), t.revision().Name+"1")
	services, endpoints := creates(t, "a Service", service, freeInService), creates(t, "an EndpointSlice", slice, freeInSlice)
	services.impossible = impossibleInService
	endpoints.impossible = map[string]string{"endpoints[].addresses": "required"}
	return []written{services, endpoints, creates(t, "a ControllerRevision", revision, freeInRevision), t.podFields()}
}

// metaOf is the metadata of an object like another one.
func (t *target) metaOf(like client.Object, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.namespace, Name: name, Labels: maps.Clone(like.GetLabels()), OwnerReferences: like.GetOwnerReferences()}
}

// creates returns the fields of an object that the operator creates.
func creates[T any, P interface {
	*T
	client.Object
}](t *target, what string, object T, free map[string]string) written {
	w := fieldsOf(t.t, what, object, func(stated T) (T, error) {
		copied := P(&stated).DeepCopyObject().(P)
		err := t.client.Create(t.t.Context(), copied, client.DryRunAll)
		onlyStated(copied)
		return *copied, err
	})
	w.free = free
	return w
}

// podFields are those of a pod's metadata: a policy compares the whole spec.
func (t *target) podFields() written {
	pod := t.pod.DeepCopy()
	get(t.t, pod)
	w := fieldsOf(t.t, "a pod's metadata", pod.ObjectMeta, func(meta metav1.ObjectMeta) (metav1.ObjectMeta, error) {
		after := pod.DeepCopy()
		after.ObjectMeta = *meta.DeepCopy()
		err := t.client.Patch(t.t.Context(), after, client.MergeFrom(pod), client.DryRunAll)
		onlyStated(after)
		return after.ObjectMeta, err
	})
	w.free, w.impossible = freeInPod, map[string]string{"deletionGracePeriodSeconds": "of pods that are being deleted"}
	return w
}

// onlyStated removes what the API server alone decides.
func onlyStated(object client.Object) {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	object.SetManagedFields(nil)
}

// What the operator's objects may have.
var (
	freeInMeta = map[string]string{
		"generateName=other":                          "the API server ignores it for an object with a name",
		"ownerReferences[0].blockOwnerDeletion=false": blocksNobody,
		"ownerReferences[0].blockOwnerDeletion=true":  blocksNobody,
	}
	freeInService = and(freeInMeta, map[string]string{
		"spec.ports[0].port=9401":             anyPort,
		"spec.ports[0].targetPort=8080":       "nobody reads it without a selector",
		"spec.ipFamilies[+]=IPv6":             ofTheCluster,
		"spec.ipFamilyPolicy=SingleStack":     ofTheCluster,
		"spec.ipFamilyPolicy=PreferDualStack": ofTheCluster,
	})
	freeInSlice = and(freeInMeta, map[string]string{
		"ownerReferences[0].name=other":                  "garbage collection deletes it: nobody has this name and UID",
		"endpoints[0].addresses[0]=198.51.100.1":         "docs/containment.md lists it among the remaining risks",
		"endpoints[0].conditions.ready is removed":       ofThePod,
		"endpoints[0].conditions.ready=false":            ofThePod,
		"endpoints[0].conditions.serving is removed":     ofThePod,
		"endpoints[0].conditions.serving=false":          ofThePod,
		"endpoints[0].conditions.terminating is removed": ofThePod,
		"endpoints[0].conditions.terminating=true":       ofThePod,
		"endpoints[0].targetRef.name=other":              ofThePod,
		"endpoints[0].targetRef.uid=other":               ofThePod,
		"endpoints[0].nodeName is removed":               ofThePod,
		"endpoints[0].nodeName=other":                    ofThePod,
		"ports[0].port=9401":                             anyPort,
	})
	freeInRevision = and(freeInMeta, map[string]string{
		"name=other": "a content counts only with its digest in a pod's record",
		"revision=1": "nobody reads it: their order is that of their creation",
	})
	freeInPod = func() map[string]string {
		free := map[string]string{}
		for _, key := range []string{v1alpha1.AnnotationFlag, v1alpha1.AnnotationScrape, v1alpha1.AnnotationPort, v1alpha1.AnnotationPath} {
			for _, value := range []string{" is removed", "=", "=other"} {
				free["annotations["+key+"]"+value] = "the operator's annotations"
			}
		}
		return free
	}()
)

const (
	blocksNobody = "it delays the deletion of an exporter until its objects are deleted, which nothing blocks"
	anyPort      = "spec.port of an exporter, or a free one"
	ofTheCluster = "the API server's default depends on the cluster, and the Service has no address"
	ofThePod     = "the state of a pod, which a policy cannot read"
)

// impossibleInService are fields of other types of Services, which other rules deny.
var impossibleInService = map[string]string{
	"spec.clusterIPs[]":          "None, as clusterIP",
	"spec.externalTrafficPolicy": "of Services with a port of nodes",
	"spec.healthCheckNodePort":   "of Services of type LoadBalancer",
}

func and(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}
