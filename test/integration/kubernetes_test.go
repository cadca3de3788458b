package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The version of the API server, for the table of docs/compatibility.md: hack/compatibility.
func TestKubernetes(t *testing.T) {
	t.Attr("kubernetes", strings.TrimPrefix(serverVersion(t), "v"))
}

func serverVersion(t *testing.T) string {
	t.Helper()
	version, err := clientsetOf(t, config).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	return version.GitVersion
}

// servesStamp reports whether the API server has the kind of config/stamp, as Kubernetes
// 1.36 is the first to have.
func servesStamp() bool {
	_, err := admin.RESTMapper().RESTMapping(schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}, "v1")
	return err == nil
}

// forKubernetes returns the folder to build of a folder's installation for the API server's
// version, as docs/operations.md says.
func forKubernetes(t *testing.T, folder string) string {
	t.Helper()
	if servesStamp() {
		return folder
	}
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	to := func(folder string) string {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(root, folder)
		}
		relative, err := filepath.Rel(dir, folder)
		if err != nil {
			t.Fatal(err)
		}
		return relative
	}
	writeFile(t, filepath.Join(dir, "kustomization.yaml"), "resources: ["+to(folder)+"]\ncomponents: ["+to("config/before-1.36")+"]\n")
	return dir
}
