package crds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// maxAnnotation is how many bytes of an annotation of an exporter are in the cache. The API server
// takes 256 KiB, which 2 000 exporters would fill the operator's memory with. The groups of a user
// have some kilobytes: they are in the user's token.
const maxAnnotation = 32 << 10

// trim removes from the metadata of an exporter what the operator does not read: whoever writes an
// exporter decides about its size. It does not change what it has trimmed.
func trim(exporter *v1alpha1.PrometheusJmxExporter) {
	exporter.ManagedFields, exporter.Labels, exporter.OwnerReferences, exporter.Finalizers = nil, nil, nil, nil
	exporter.GenerateName = ""
	var kept map[string]string
	for _, name := range []string{v1alpha1.AnnotationResume, v1alpha1.AnnotationRequester, v1alpha1.AnnotationRequesterGroups} {
		value, found := exporter.Annotations[name]
		if !found {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[name] = short(name, value)
	}
	exporter.Annotations = kept
}

// short returns the value of an annotation, or a short one in its place: of the annotation that
// resumes a rollout only changes count, and an invalid stamp gives no right.
func short(name, value string) string {
	switch {
	case len(value) <= maxAnnotation:
		return value
	case name == v1alpha1.AnnotationResume:
		sum := sha256.Sum256([]byte(value))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return fmt.Sprintf("more than %d bytes", maxAnnotation)
}
