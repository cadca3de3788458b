package funcs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// build returns the objects of a kustomization. Its files do not change after Load, so it
// is built once.
func (s *Suite) build(ctx context.Context, kustomization string) ([]*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.built[kustomization]
	if !ok {
		var err error
		if text, err = s.output(ctx, "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", kustomization); err != nil {
			return nil, err
		}
		s.built[kustomization] = text
	}
	return decode(text)
}

// run runs a command at the top of the repository and shows what it says.
func (s *Suite) run(ctx context.Context, name string, args ...string) error {
	command := s.command(ctx, name, args...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

func (s *Suite) output(ctx context.Context, name string, args ...string) (string, error) {
	command := s.command(ctx, name, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(output), nil
}

func (s *Suite) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if strings.HasPrefix(name, "hack/") {
		name = filepath.Join(s.root, name)
	}
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = s.root
	command.Env = os.Environ()
	if s.kubeconfig != "" {
		command.Env = append(command.Env, "KUBECONFIG="+s.kubeconfig)
	}
	if s.kindName != "" {
		command.Env = append(command.Env, "KIND_CLUSTER="+s.kindName)
	}
	return command
}
