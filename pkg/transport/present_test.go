//go:build linux

package transport

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// Only a helper that is in a container already is run, the last one that was installed, and
// none that somebody else could have written.
func TestPresent(t *testing.T) {
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(t.TempDir(), "jmx-attach")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", helper, "./cmd/jmx-attach")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	eachShell(t, func(t *testing.T, sh []string) {
		s := newContainer(t, 0o1777)
		s.sh, s.proc = sh, "/proc"
		in := Container{Namespace: "ns", Pod: "app-0", PodUID: "abc-1", Name: "app"}
		s.mountOfPod(in.PodUID)
		_, err := NewPresent(s).Open(t.Context(), in)
		wantError(t, err, v1alpha1.ReasonHelperFailed, "There is no helper")
		if _, err := os.Stat(helperapi.AgentDirectory); err == nil {
			t.Fatal("the agent directory was created")
		}

		program, err := os.ReadFile(helper)
		if err != nil {
			t.Fatal(err)
		}
		planted := []byte("#!/bin/sh\necho >" + proof + "\n")
		for i, file := range []struct {
			name    string
			content []byte
			mode    os.FileMode
		}{ // the oldest first
			{"jmx-attach-000000000000", planted, 0o755},
			{"jmx-attach-0123456789ab", program, 0o755},
			{"jmx-attach-ffffffffffff", planted, 0o777},
			{"jmx-attach-*", planted, 0o755},
			{"config-0123456789ab.yaml", planted, 0o755},
		} {
			s.write(s.home(file.name), string(file.content), file.mode)
			if err := os.Chmod(s.home(file.name), file.mode); err != nil {
				t.Fatal(err)
			}
			written := time.Now().Add(time.Duration(i-10) * time.Minute)
			if err := os.Chtimes(s.home(file.name), written, written); err != nil {
				t.Fatal(err)
			}
		}
		session, err := NewPresent(s).Open(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		report, err := session.Run(t.Context(), helperapi.VerbInspect, helperapi.Request{})
		if err != nil || len(report.Processes) != 1 || report.Processes[0].PID != app.PID {
			t.Fatalf("inspect: %+v, %v", report, err)
		}
		jar, config := NewBlob("agent-", []byte("a jar"), ".jar"), NewBlob("config-", []byte("{}"), ".yaml")
		_, err = session.Run(t.Context(), helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{jar.File}}, jar)
		wantError(t, err, v1alpha1.ReasonBadRequest, "none of the jars")
		if _, err = session.Run(t.Context(), helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{config.File}}, config); err != nil {
			t.Fatal(err)
		}
		_, err = session.Run(t.Context(), helperapi.VerbCheck, helperapi.Request{Target: &report.Processes[0].Target, Candidate: &config.File})
		wantError(t, err, v1alpha1.ReasonAgentFailed, "no agent")
		if _, err := os.Stat(proof); err == nil {
			t.Error("what somebody else could have written was run")
		}

		if err := os.Chmod(helperapi.AgentDirectory, 0o777); err != nil {
			t.Fatal(err)
		}
		_, err = NewPresent(s).Open(t.Context(), in)
		wantError(t, err, v1alpha1.ReasonAgentDirectoryNotTrusted, "")
	})
	app.Unharmed()
}

func TestRunningDoor(t *testing.T) {
	pod := &corev1.Pod{}
	add := func(name, target string, state corev1.ContainerState) {
		c := corev1.EphemeralContainer{TargetContainerName: target}
		c.Name = name
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, c)
		pod.Status.EphemeralContainerStatuses = append(pod.Status.EphemeralContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	add("debugger", "app", running)
	add(DoorPrefix+"1", "app", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	add(DoorPrefix+"2", "other", running)
	_, err := NewPresent(nil).Open(t.Context(), Container{Name: "app", Transport: v1alpha1.TransportEphemeralContainer, Object: pod})
	wantError(t, err, v1alpha1.ReasonDoorPending, "No ephemeral container")
	add(DoorPrefix+"3", "app", running)
	if got := runningDoor(pod, "app"); got != DoorPrefix+"3" {
		t.Errorf("got %q", got)
	}
}
