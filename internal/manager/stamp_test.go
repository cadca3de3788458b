package manager

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
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
func TestLogStamp(t *testing.T) {
	for name, tc := range map[string]struct {
		api  serves
		says string
	}{
		"served":     {api: serves{kinds: []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}}},
		"not served": {api: serves{kinds: []string{"ValidatingAdmissionPolicy"}}, says: "are not reviewed"},
		"unknown":    {api: serves{err: errors.New("no answer")}, says: "cannot discover"},
	} {
		var logged strings.Builder
		LogStamp(funcr.New(func(_, line string) { logged.WriteString(line) }, funcr.Options{}), tc.api)
		if got := logged.String(); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s: logged is %q", name, got)
		}
	}
}
