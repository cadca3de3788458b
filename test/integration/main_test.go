package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/internal/helper"
	"banzaicloud.com/jmx-exporter-operator/test/controlplane"
)

// The API server of this package's tests, with the rights of an administrator.
var (
	environment *envtest.Environment
	config      *rest.Config
	admin       client.WithWatch
	scheme      = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helper.TrialCommand { // run by a helper in this process
		os.Exit(helper.Trial(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if environment, err = controlplane.New(); err != nil {
		return controlplane.Fail(err)
	}
	log.SetLogger(zap.New(zap.WriteTo(logs())))
	if !full() {
		controlplane.Uncached(environment)
	}
	unaudit, err := audit(environment)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer unaudit()
	return controlplane.Run(m, environment, scheme, func(as *rest.Config) error {
		config = as
		admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
		if err != nil {
			return err
		}
		return grantCRDs()
	})
}

// grantCRDs lets all service accounts read the CRDs, as config/users does. The names differ from
// those of installations, which tests remove.
func grantCRDs() error {
	data, err := os.ReadFile("../../config/users/crds_role.yaml")
	if err != nil {
		return err
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		return err
	}
	role.Name += "-of-all-tests"
	return errors.Join(admin.Create(context.Background(), &role), admin.Create(context.Background(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: serviceAccounts}},
	}))
}

// certificates guards the certificate authority of envtest: parallel tests that
// add users at the same time race for its serial numbers.
var certificates sync.Mutex

// serviceAccounts is the group of all service accounts (k8s.io/apiserver,
// pkg/authentication/serviceaccount).
const serviceAccounts = "system:serviceaccounts"

// addUser returns the configuration of a client with this user name and these groups, which
// has no other rights.
func addUser(t *testing.T, name string, groups ...string) *rest.Config {
	t.Helper()
	certificates.Lock()
	defer certificates.Unlock()
	user, err := environment.AddUser(envtest.User{Name: name, Groups: append(groups, "system:authenticated")}, config)
	if err != nil {
		t.Fatal(err)
	}
	return user.Config()
}

// logs is the destination of the operator's log: discarded, unless LOGS names a file.
func logs() *os.File {
	name := os.Getenv("LOGS")
	if name == "" {
		name = os.DevNull
	}
	file, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	return file
}

// newClient returns a client with another configuration. It shares the administrator's
// knowledge of the API instead of requesting it again.
func newClient(config *rest.Config) (client.WithWatch, error) {
	return client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: admin.RESTMapper()})
}
