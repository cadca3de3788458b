package manager

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/crds"
)

// serves is an API server with these kinds of admission policies.
type serves struct {
	discovery.ServerResourcesInterface
	kinds []string
	err   error
}

func (s serves) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{}
	for _, kind := range s.kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	return list, s.err
}

// What is off is logged at start-up, and nothing else.
func TestStamps(t *testing.T) {
	for name, tc := range map[string]struct {
		api  serves
		want bool
		says string
	}{
		"served":     {want: true, api: serves{kinds: []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}}},
		"not served": {api: serves{kinds: []string{"ValidatingAdmissionPolicy"}}, says: "are not reviewed"},
		"unknown":    {want: true, api: serves{err: errors.New("no answer")}, says: "cannot discover"},
	} {
		var logged strings.Builder
		if got := Stamps(funcr.New(func(_, line string) { logged.WriteString(line) }, funcr.Options{}), tc.api); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
		if got := logged.String(); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s: logged is %q", name, got)
		}
	}
}

// Where no policy stamps exporters, the annotations are not in the cache, so that nobody is
// named by them, and nobody's rights are reviewed.
func TestIgnoredStamp(t *testing.T) {
	definitions, err := crds.NewDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		ignore bool
		want   map[string]string
	}{
		"exporters are stamped":     {false, map[string]string{v1alpha1.AnnotationRequester: "admin", v1alpha1.AnnotationRequesterGroups: "[]", v1alpha1.AnnotationResume: "1"}},
		"exporters are not stamped": {true, map[string]string{v1alpha1.AnnotationResume: "1"}},
	} {
		e := &v1alpha1.PrometheusJmxExporter{}
		e.Annotations = map[string]string{v1alpha1.AnnotationRequester: "admin", v1alpha1.AnnotationRequesterGroups: "[]", v1alpha1.AnnotationResume: "1"}
		for object, by := range cacheOptions(Options{IgnoreStamps: tc.ignore}, definitions).ByObject {
			if _, ok := object.(*v1alpha1.PrometheusJmxExporter); !ok {
				continue
			}
			if _, err := by.Transform(e); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(tc.want, e.Annotations); diff != "" {
			t.Errorf("%s: annotations in the cache (-want +got):\n%s", name, diff)
		}
	}
}
