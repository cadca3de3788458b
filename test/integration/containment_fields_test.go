package integration

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/test/attacks/variants"
)

// written is an object that the operator writes, in which an attacker changes one field.
type written struct {
	what string
	// same requests what the operator does, which has to be admitted.
	same   func() error
	fields []field
	// free names the values that a policy admits, and why that is no attack.
	free map[string]string
	// impossible names the fields that no object like the operator's can have.
	impossible map[string]string
}

type field struct {
	variants.Variant[any]
	// try requests the change, and reports whether the API server would keep it.
	try func() (kept bool, err error)
}

// fieldsOf returns the fields of an object that is written by a request, which returns what
// the API server would store.
func fieldsOf[T any](t *testing.T, what string, object T, request func(T) (T, error)) written {
	t.Helper()
	all, err := variants.Of(object, variants.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	w := written{what: what, same: func() error { _, err := request(object); return err }}
	for _, v := range all {
		w.fields = append(w.fields, field{variants.Variant[any]{Path: v.Path, Field: v.Field}, func() (bool, error) {
			same, err := request(object)
			if err != nil {
				return false, err
			}
			changed, err := request(v.Value)
			return err == nil && !equality.Semantic.DeepEqual(same, changed), err
		}})
	}
	return w
}

// withoutPolicies reports which fields an attacker can change if no policy is in force.
// That API validation refuses a value proves something only if it refuses the field.
func (w written) withoutPolicies(t *testing.T) (attacks []field) {
	t.Helper()
	refused, invalid, tried := map[string]bool{}, map[string]error{}, map[string]bool{}
	for _, f := range w.fields {
		at := indexless(f.Path)
		switch kept, err := f.try(); {
		case err == nil && kept:
			attacks, tried[at] = append(attacks, f), true
		case err == nil, !apierrors.IsInvalid(err): // ignored, or refused whatever the policies are
			tried[at] = true
		case forbidsField(err):
			refused[f.Path], tried[at] = true, true
		default:
			invalid[at] = err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(invalid)) {
		inside := func(other string) bool { return other == path || strings.HasPrefix(other, path+".") }
		if w.impossible[path] == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(tried)), inside) {
			t.Errorf("%s: no valid value of %s is tried, so nothing is proven: add one to variants.Kubernetes: %v", w.what, path, invalid[path])
		}
	}
	t.Logf("%s: %d attacks; API validation refuses %q, with or without policies", w.what, len(attacks), slices.Sorted(maps.Keys(refused)))
	return attacks
}

// withPolicies checks that each attack is denied, or listed as harmless.
func (w written) withPolicies(t *testing.T, attacks []field) {
	t.Helper()
	if err := w.same(); err != nil {
		t.Errorf("%s: with the policies, the operator's own request is denied: %v", w.what, err)
	}
	free := maps.Clone(w.free)
	for _, f := range attacks {
		_, err := f.try()
		_, listed := w.free[f.Name()]
		delete(free, f.Name())
		switch {
		case err == nil && !listed:
			t.Errorf("%s: with the policies, an attacker may still set %s", w.what, f.Name())
		case err != nil && listed:
			t.Errorf("%s: %s is listed as harmless, but is denied: %v", w.what, f.Name(), err)
		case err != nil && !deniedByAny(err):
			t.Errorf("%s: %s: got %v, want a denial by a policy", w.what, f.Name(), err)
		}
	}
	for name := range free {
		t.Errorf("%s: %s is listed as harmless, but is no field that can be set", w.what, name)
	}
}

// indexless returns a path without the indexes of elements.
func indexless(path string) string {
	var b strings.Builder
	inside := false
	for _, r := range path {
		switch {
		case r == '[':
			inside = true
			b.WriteString("[]")
		case r == ']':
			inside = false
		case !inside:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// forbidsField reports whether API validation refuses a field, whatever its value is.
func forbidsField(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Details != nil && slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseType("FieldValueForbidden")
	})
}

// A stolen token can set no field of what the operator writes to another value than the operator
// does. The fields are those of the API's types, so that a new one is an attack at once.
func TestContainmentOfFields(t *testing.T) {
	c := contain(t, "default")
	x := newTarget(c)
	all := append(x.objectFields(), x.doorFields("a door", nonRoot, doorOfUser), x.doorFields("a door of root", root, doorOfRoot))
	eventually(t, func() bool { return all[0].same() == nil })
	attacks := make([][]field, len(all))
	for i, w := range all {
		if err := w.same(); err != nil {
			t.Fatalf("%s: without policies, the operator's own request is refused: %v", w.what, err)
		}
		attacks[i] = w.withoutPolicies(t)
	}
	privileged := x.adds("a privileged ephemeral container is added", func(c *corev1.EphemeralContainer) {
		c.SecurityContext.Privileged, c.SecurityContext.AllowPrivilegeEscalation = new(true), nil
	})
	c.enforce(func() bool { return deniedByAny(privileged.try()) })
	for i, w := range all {
		w.withPolicies(t, attacks[i])
	}
}

var (
	nonRoot = transport.User{UID: 1000, GID: 1000}
	root    = transport.User{}
)

// doorFields are those of an ephemeral container like the operator's.
func (t *target) doorFields(what string, user transport.User, free map[string]string) written {
	door := t.doorOf(user)
	door.Name = transport.DoorPrefix + "0123abcd-2"
	w := fieldsOf(t.t, what, door, func(c corev1.EphemeralContainer) (corev1.EphemeralContainer, error) {
		pod := t.pod.DeepCopy()
		get(t.t, pod)
		after := pod.DeepCopy()
		after.Spec.EphemeralContainers = append(after.Spec.EphemeralContainers, c)
		err := t.client.SubResource("ephemeralcontainers").Patch(t.t.Context(), after, client.StrategicMergeFrom(pod),
			&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
		if err != nil {
			return c, err
		}
		i := slices.IndexFunc(after.Spec.EphemeralContainers, func(added corev1.EphemeralContainer) bool { return added.Name == c.Name })
		return after.Spec.EphemeralContainers[i], nil
	})
	w.free = free
	return w
}

// What a door may have. Its user and target are those of the JVM, which no policy knows:
// docs/containment.md lists them among the remaining risks.
var (
	freeInDoor = map[string]string{
		"targetContainerName=second":                      "any container of the pod may have a JVM",
		"env[0].value=other":                              anyTarget,
		"env[0].value=":                                   anyTarget,
		"securityContext.runAsGroup=0":                    "the JVM's group",
		"securityContext.runAsGroup=1001":                 "the JVM's group",
		"securityContext.capabilities.drop[+]=SYS_PTRACE": fewerRights,
		"securityContext.privileged=false":                "the default",
	}
	doorOfUser = with(maps.Clone(freeInDoor), func(free *map[string]string) { (*free)["securityContext.runAsUser=1001"] = "the JVM's user" })
	doorOfRoot = with(maps.Clone(freeInDoor), func(free *map[string]string) {
		delete(*free, "securityContext.runAsGroup=0") // it is that
		delete(*free, "targetContainerName=second")   // which has no capabilities
		(*free)["securityContext.capabilities.add is removed"] = fewerRights
	})
)

const (
	anyTarget   = "the waiting process ends when that container does; each session names its target itself"
	fewerRights = "fewer rights; OpenShift's admission does it"
)
