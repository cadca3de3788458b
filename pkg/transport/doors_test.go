package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// apiPods fakes an API server with one pod, which accepts ephemeral containers.
type apiPods struct {
	pod   *corev1.Pod
	added []*corev1ac.EphemeralContainerApplyConfiguration
	err   error
}

func (p *apiPods) Live(context.Context, string, string) (*corev1.Pod, error) {
	return p.pod.DeepCopy(), nil
}

func (p *apiPods) AddEphemeralContainer(_ context.Context, _ *corev1.Pod, c *corev1ac.EphemeralContainerApplyConfiguration) error {
	if p.err != nil {
		return p.err
	}
	p.added = append(p.added, c)
	p.has(*c.Name, corev1.ContainerState{})
	return nil
}

// has adds an ephemeral container in a state to the pod; the zero state is not reported.
func (p *apiPods) has(name string, state corev1.ContainerState) {
	p.pod.Spec.EphemeralContainers = append(p.pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name}})
	p.becomes(name, state)
}

func (p *apiPods) becomes(name string, state corev1.ContainerState) {
	if state != (corev1.ContainerState{}) {
		p.pod.Status.EphemeralContainerStatuses = append(p.pod.Status.EphemeralContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
}

func aPod() *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", "app-0", "uid-1"
	pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", User: &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: 1000, GID: 2000}}}}
	return pod
}

func aDoor(pods *apiPods, streams Streams) *Door {
	return NewDoor(anExec(streams), pods, DoorOptions{Image: "operator:1", Idle: 10 * time.Minute})
}

func behind(pod *corev1.Pod) Container {
	return Container{Namespace: "ns", Pod: "app-0", PodUID: "uid-1", Name: "app", ID: "containerd://" + strings.Repeat("ab", 32), Object: pod}
}

var (
	runs      = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	endedWell = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	endedBad  = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "exec format error"}}
)

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// TestDoors checks which door is used, awaited or added, given those that the pod has.
func TestDoors(t *testing.T) {
	stem := aDoor(&apiPods{pod: aPod()}, nil).stem(behind(aPod()))
	for name, tc := range map[string]struct {
		doors  map[string]corev1.ContainerState
		reason string
		words  string
		added  string
	}{
		"none: one is added":                   {reason: v1alpha1.ReasonDoorPending, added: stem + "1"},
		"one that is starting is waited for":   {doors: map[string]corev1.ContainerState{stem + "1": waits("ContainerCreating", "")}, reason: v1alpha1.ReasonDoorPending},
		"one that nobody reports yet, too":     {doors: map[string]corev1.ContainerState{stem + "1": {}}, reason: v1alpha1.ReasonDoorPending},
		"the kubelet's words on an image":      {doors: map[string]corev1.ContainerState{stem + "1": waits("ImagePullBackOff", "Back-off pulling image")}, reason: v1alpha1.ReasonDoorImagePullFailed, words: "Back-off pulling image"},
		"whose pull secrets are used":          {doors: map[string]corev1.ContainerState{stem + "1": waits("ErrImagePull", "401 Unauthorized")}, reason: v1alpha1.ReasonDoorImagePullFailed, words: "pull secrets of this pod"},
		"the kubelet's words on a failure":     {doors: map[string]corev1.ContainerState{stem + "1": waits("CreateContainerConfigError", "container has runAsNonRoot")}, reason: v1alpha1.ReasonDoorFailed, words: "runAsNonRoot"},
		"one that ended has a successor":       {doors: map[string]corev1.ContainerState{stem + "1": endedWell, stem + "2": endedWell}, reason: v1alpha1.ReasonDoorPending, added: stem + "3"},
		"numbers are no text":                  {doors: map[string]corev1.ContainerState{stem + "9": endedWell, stem + "10": endedWell}, reason: v1alpha1.ReasonDoorPending, added: stem + "11"},
		"one that failed is tried again":       {doors: map[string]corev1.ContainerState{stem + "1": endedBad}, reason: v1alpha1.ReasonDoorPending, added: stem + "2"},
		"three that failed are enough":         {doors: map[string]corev1.ContainerState{stem + "1": endedBad, stem + "2": endedBad, stem + "3": endedBad}, reason: v1alpha1.ReasonDoorFailed, words: "StartError: exec format error"},
		"another instance's is none of it":     {doors: map[string]corev1.ContainerState{DoorPrefix + "00000000-1": runs}, reason: v1alpha1.ReasonDoorPending, added: stem + "1"},
		"somebody else's is none of it":        {doors: map[string]corev1.ContainerState{"debugger-x": runs}, reason: v1alpha1.ReasonDoorPending, added: stem + "1"},
		"the last one is kept to detach":       {doors: many(7), reason: v1alpha1.ReasonDoorsExhausted, words: "--door-idle=0"},
		"there is an end to adding":            {doors: many(8), reason: v1alpha1.ReasonDoorsExhausted, words: "--door-idle=0"},
		"one that runs is used before the end": {doors: with(many(8), stem+"1", runs)},
	} {
		t.Run(name, func(t *testing.T) {
			pods := &apiPods{pod: aPod()}
			for name, state := range tc.doors {
				pods.has(name, state)
			}
			d := aDoor(pods, acts(prints(hello), untilEnd))
			s, err := d.Open(t.Context(), behind(pods.pod))
			if tc.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
			} else {
				wantError(t, err, tc.reason, tc.words)
			}
			got := ""
			for _, c := range pods.added {
				got += *c.Name
			}
			if got != tc.added {
				t.Errorf("added %q, want %q", got, tc.added)
			}
		})
	}
}

func many(n int) map[string]corev1.ContainerState {
	doors := map[string]corev1.ContainerState{}
	for i := range n {
		doors[fmt.Sprintf("%s00000000-%d", DoorPrefix, i)] = endedWell
	}
	return doors
}

func with(doors map[string]corev1.ContainerState, name string, state corev1.ContainerState) map[string]corev1.ContainerState {
	doors[name] = state
	return doors
}

// A stale cache does not lead to a second door, since the live pod is read first.
func TestDoorBehindCache(t *testing.T) {
	pods := &apiPods{pod: aPod()}
	d := aDoor(pods, nil)
	for range 3 {
		_, err := d.Open(t.Context(), behind(aPod()))
		wantError(t, err, v1alpha1.ReasonDoorPending, "starting")
	}
	if len(pods.added) != 1 {
		t.Errorf("%d doors were added", len(pods.added))
	}
	pods.pod.UID = "uid-2"
	_, err := d.Open(t.Context(), behind(aPod()))
	wantError(t, err, v1alpha1.ReasonPodGone, "")
}

// An ephemeral container has the rights of its target and no more.
func TestDoorRights(t *testing.T) {
	restricted := &corev1.SecurityContext{
		RunAsUser: new(int64(7)), RunAsGroup: new(int64(8)),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	rooted := &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"CHOWN"}, Add: []corev1.Capability{"NET_ADMIN", "SYS_ADMIN"}}, Privileged: new(true)}
	all := []corev1.Capability{"ALL"}
	for name, tc := range map[string]struct {
		target *corev1.SecurityContext
		user   *corev1.LinuxContainerUser
		found  *User
		jvm    *User
		want   corev1.SecurityContext
	}{
		"whom the kubelet reports": {
			user: &corev1.LinuxContainerUser{UID: 1000, GID: 2000},
			want: corev1.SecurityContext{RunAsUser: new(int64(1000)), RunAsGroup: new(int64(2000)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all}},
		},
		"whom an inspection found comes first": {
			user: &corev1.LinuxContainerUser{}, found: &User{5, 6},
			want: corev1.SecurityContext{RunAsUser: new(int64(5)), RunAsGroup: new(int64(6)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all}},
		},
		"whom the spec asks for, restricted": {
			target: restricted,
			want: corev1.SecurityContext{
				RunAsUser: new(int64(7)), RunAsGroup: new(int64(8)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all},
				SeccompProfile: restricted.SeccompProfile,
			},
		},
		"whom the spec asks for, without a group": {
			target: &corev1.SecurityContext{RunAsUser: new(int64(1000650000))},
			want:   corev1.SecurityContext{RunAsUser: new(int64(1000650000)), RunAsGroup: new(int64(0)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all}},
		},
		"whom the spec asks for, without a group, and the JVM is known": {
			target: &corev1.SecurityContext{RunAsUser: new(int64(7))}, jvm: &User{7, 8},
			want: corev1.SecurityContext{RunAsUser: new(int64(7)), RunAsGroup: new(int64(8)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all}},
		},
		"root, with the target's capabilities, never privileged": {
			target: rooted, user: &corev1.LinuxContainerUser{},
			want: corev1.SecurityContext{RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"CHOWN"}, Add: []corev1.Capability{"NET_ADMIN"}}},
		},
		"nobody says it, and the JVM is known": {
			jvm:  &User{5, 6},
			want: corev1.SecurityContext{RunAsUser: new(int64(5)), RunAsGroup: new(int64(6)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all}},
		},
		"the kubelet says it, and the JVM is known": {
			user: &corev1.LinuxContainerUser{UID: 1000, GID: 2000}, jvm: &User{5, 6},
			want: corev1.SecurityContext{RunAsUser: new(int64(1000)), RunAsGroup: new(int64(2000)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all}},
		},
		"nobody says it": {
			want: corev1.SecurityContext{RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: all}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pods := &apiPods{pod: aPod()}
			pods.pod.Spec.Containers[0].SecurityContext = tc.target
			pods.pod.Status.ContainerStatuses[0].User = nil
			if tc.user != nil {
				pods.pod.Status.ContainerStatuses[0].User = &corev1.ContainerUser{Linux: tc.user}
			}
			in := behind(pods.pod)
			in.User, in.JVMUser = tc.found, tc.jvm
			_, err := aDoor(pods, nil).Open(t.Context(), in)
			wantError(t, err, v1alpha1.ReasonDoorPending, "")
			data, err := json.Marshal(pods.added[0])
			if err != nil {
				t.Fatal(err)
			}
			var got corev1.EphemeralContainer
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			tc.want.AllowPrivilegeEscalation, tc.want.ReadOnlyRootFilesystem = new(false), new(true)
			want := corev1.EphemeralContainer{
				TargetContainerName: "app",
				EphemeralContainerCommon: corev1.EphemeralContainerCommon{
					Name: got.Name, Image: "operator:1", ImagePullPolicy: corev1.PullIfNotPresent,
					Command:                  []string{"/jmx-attach", "door", "--idle=10m0s"},
					Env:                      []corev1.EnvVar{{Name: helperapi.DoorTarget, Value: strings.Repeat("ab", 32)}},
					TerminationMessagePolicy: corev1.TerminationMessageReadFile,
					SecurityContext:          &tc.want,
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each cause of a refusal has its own reason.
func TestDoorRefused(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for reason, err := range map[string]error{
		v1alpha1.ReasonPodGone:       apierrors.NewNotFound(pods, "app-0"),
		v1alpha1.ReasonDoorForbidden: apierrors.NewForbidden(schema.GroupResource{Resource: "pods/ephemeralcontainers"}, "app-0", errors.New(`User "x" cannot patch resource "pods/ephemeralcontainers" in API group ""`)),
		v1alpha1.ReasonDoorRefused:   apierrors.NewForbidden(pods, "app-0", errors.New("ValidatingAdmissionPolicy 'no-debug' with binding 'b' denied request: no ephemeral containers here")),
		v1alpha1.ReasonAPIError:      errors.New("connection reset"),
	} {
		api := &apiPods{pod: aPod(), err: err}
		_, got := aDoor(api, nil).Open(t.Context(), behind(aPod()))
		wantError(t, got, reason, "")
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "app-0", nil)
	invalid.ErrStatus.Message = "static pods do not support ephemeral containers"
	static := &apiPods{pod: aPod(), err: invalid}
	_, err := aDoor(static, nil).Open(t.Context(), behind(aPod()))
	wantError(t, err, v1alpha1.ReasonDoorRefused, "static pods do not support ephemeral containers")
}
