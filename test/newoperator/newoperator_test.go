// Package newoperator tests what make new-operator writes, as its user would use it: it is
// generated into an empty folder, nothing is renamed, and it builds, passes its own tests, and
// reconciles an object on a real API server.
package newoperator

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"banzaicloud.com/jmx-exporter-operator/test/controlplane"
)

// engine is the module that has the engine.
const engine = "banzaicloud.com/jmx-exporter-operator"

// backupPolicies is the kind of the operator that is written: its plural is irregular.
var backupPolicies = schema.GroupVersionKind{Group: "backups.acme.io", Version: "v1alpha1", Kind: "BackupPolicy"}

func TestOperator(t *testing.T) {
	environment, err := controlplane.New()
	if err != nil {
		t.Fatal(err)
	}
	environment.CRDDirectoryPaths = nil
	log.SetLogger(logr.Discard())
	o := &operator{dir: filepath.Join(t.TempDir(), "operator"), env: []string{"KUBEBUILDER_ASSETS=" + environment.BinaryAssetsDirectory}}
	o.generate(t, "ENGINE=.")

	t.Run("nothing is called skeleton", o.named)
	t.Run("go.mod says that the engine is a checkout", func(t *testing.T) {
		root, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		if text := o.read(t, "go.mod"); !strings.Contains(text, "replace "+engine+" => "+root+"\n") {
			t.Errorf("go.mod:\n%s", text)
		}
	})
	t.Run("it is verified", func(t *testing.T) { o.run(t, "make", "verify") })
	t.Run("its tests pass", func(t *testing.T) { o.run(t, "make", "test") })
	t.Run("its image is built from its folder alone", o.image)
	t.Run("it reconciles an object", func(t *testing.T) { o.reconciles(t, environment) })
	t.Run("verify notices another group", o.disagree)
}

// An operator is one that was written into a folder. Its commands run with env.
type operator struct {
	dir string
	env []string
}

// generate writes the operator.
func (o *operator) generate(t *testing.T, how string) {
	t.Helper()
	repository := &operator{dir: filepath.Join("..", ".."), env: o.env}
	repository.run(t, "make", "new-operator", "NAME="+backupPolicies.Kind, "GROUP="+backupPolicies.Group,
		"MODULE=acme.io/backup-operator", "DIR="+o.dir, how)
}

func (o *operator) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	// Compiled as everything else of this repository is, so that it is compiled once.
	command.Dir, command.Env = o.dir, append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath"), o.env...)
	return command
}

// run runs a command in the folder of the operator, and returns its output.
func (o *operator) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	output, err := o.command(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
	return string(output)
}

func (o *operator) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(o.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// named finds what is called as the skeleton.
func (o *operator) named(t *testing.T) {
	called := regexp.MustCompile(`(?i:skeleton)|[Bb]ackup[Pp]olicys\b|[^.]example\.com|/examples/`)
	err := filepath.WalkDir(o.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(o.dir, name)
		if err != nil {
			return err
		}
		text := relative + "\n" + strings.ReplaceAll(o.read(t, relative), "`examples/README.md`", "")
		if strings.Contains(relative, "bases/") {
			text = strings.ReplaceAll(text, "foo.example.com", "") // in the description of conditions
		}
		if found := called.FindString(text); found != "" {
			t.Errorf("%s has %q", relative, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// image runs the build of the image with what .dockerignore leaves of the folder.
func (o *operator) image(t *testing.T) {
	if output, err := o.command(t.Context(), "make", "context").CombinedOutput(); err == nil || !strings.Contains(string(output), "go mod vendor") {
		t.Errorf("the engine is outside of the image's context: %v\n%s", err, output)
	}
	o.run(t, "go", "mod", "vendor")
	o.run(t, "make", "context", "manifests") // the tools are not those of the folder vendor
	image := &operator{dir: t.TempDir(), env: []string{"GOPROXY=off"}}
	for line := range strings.SplitSeq(o.read(t, ".dockerignore"), "\n") {
		if name, kept := strings.CutPrefix(line, "!"); kept {
			o.run(t, "cp", "-r", name, image.dir)
		}
	}
	build := regexp.MustCompile(`(?m)^RUN (.*)$`).FindStringSubmatch(o.read(t, "Dockerfile"))
	if build == nil {
		t.Fatal("Dockerfile has no RUN")
	}
	image.run(t, "sh", "-c", strings.ReplaceAll(build[1], "/manager", filepath.Join(image.dir, "manager")))
	o.run(t, "rm", "-r", "vendor")
}

// reconciles installs the CRD, runs the operator and creates the sample.
func (o *operator) reconciles(t *testing.T, environment *envtest.Environment) {
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, config)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := admin.KubeConfig()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err == nil {
		err = os.WriteFile(file, kubeconfig, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	kubectl := filepath.Join(environment.BinaryAssetsDirectory, "kubectl")
	o.env = append(o.env, "KUBECONFIG="+file)
	o.run(t, "make", "build")
	o.run(t, "make", "install", "KUBECTL="+kubectl)
	o.run(t, kubectl, "wait", "--for=condition=Established", "crd/backuppolicies.backups.acme.io")
	o.run(t, kubectl, "apply", "-n", "default", "-f", "config/samples/backuppolicy.yaml")

	manager := o.command(t.Context(), filepath.Join(o.dir, "bin", "manager"), "--health-probe-bind-address=0")
	output := &strings.Builder{}
	manager.Stdout, manager.Stderr = output, output
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(backupPolicies)
	err = wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "sample"}, object)
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase == "Deployed", client.IgnoreNotFound(err)
	})
	_ = manager.Process.Signal(os.Interrupt)
	ended := manager.Wait()
	if err != nil {
		t.Fatalf("the object is %v: %v\n%s", object.Object["status"], err, output)
	}
	if ended != nil {
		t.Errorf("the operator ended with %v\n%s", ended, output)
	}
	o.run(t, kubectl, "get", "-n", "default", "deployment/sample")
}

// disagree changes the group by hand, as a person might who overlooks files.
func (o *operator) disagree(t *testing.T) {
	for _, name := range []string{"api/v1alpha1/groupversion.go", "internal/controller/reconciler.go"} {
		text := strings.ReplaceAll(o.read(t, name), backupPolicies.Group, "acme.io")
		if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.run(t, "make", "generate")
	output, err := o.command(t.Context(), "make", "verify").CombinedOutput()
	if err == nil {
		t.Error("make verify does not fail")
	}
	for _, want := range []string{
		"config/crd/bases/backups.acme.io_backuppolicies.yaml is of the group backups.acme.io",
		"kustomization.yaml does not list bases/acme.io_backuppolicies.yaml",
		"config/samples/backuppolicy.yaml is a BackupPolicy of backups.acme.io/v1alpha1",
	} {
		if !strings.Contains(string(output), want) {
			t.Errorf("make verify does not say %q:\n%s", want, output)
		}
	}
}
