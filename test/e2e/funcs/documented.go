package funcs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Block is a block of commands (```sh) in the documentation.
type Block struct {
	// Page is its file, relative to the repository, and Line that of its first command.
	Page string
	Line int
	// Script is what is between the fences.
	Script string
}

// String says where the block is and how it begins.
func (b Block) String() string {
	first, _, _ := strings.Cut(strings.TrimSpace(b.Script), "\n")
	return fmt.Sprintf("%s:%d %s", b.Page, b.Line, first)
}

var fence = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```$")

// DocumentedBlocks returns the blocks of README.md and docs, in the order of the pages.
func DocumentedBlocks(root string) ([]Block, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	var blocks []Block
	for _, page := range append([]string{filepath.Join(root, "README.md")}, pages...) {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, page)
		if err != nil {
			return nil, err
		}
		for _, at := range fence.FindAllStringSubmatchIndex(string(text), -1) {
			blocks = append(blocks, Block{name, strings.Count(string(text[:at[2]]), "\n") + 1, string(text[at[2]:at[3]])})
		}
	}
	return blocks, nil
}

// Documented runs blocks one after the other as a reader of the documentation would, who
// has an exporter in a namespace, and looks at one of its pods: each command has to
// succeed, and to find what it looks for.
func (s *Suite) Documented(namespace, exporter string, blocks []Block) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		reader, err := s.readerOf(ctx, t, c, namespace, exporter)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks {
			if err := reader.run(ctx, block); err != nil {
				t.Error(err)
			}
			if err := await(ctx, patience, func(ctx context.Context) error { return c.complete(ctx, namespace) }); err != nil {
				t.Errorf("after %s: %v", block, err)
			}
		}
	})
}

// complete reports an error unless there are records, each with JVMs: a block may delete
// them, and the next one is for those that are made again.
func (c *cluster) complete(ctx context.Context, namespace string) error {
	records, err := c.attachments(ctx, namespace)
	if len(records) == 0 && err == nil {
		return errors.New("no record is there")
	}
	for _, record := range records {
		if len(record.Status.Processes) == 0 {
			return fmt.Errorf("record %s has no JVM", record.Name)
		}
	}
	return err
}

// reader is what the commands of the documentation are run with.
type reader struct {
	suite *Suite
	// environment has the variables that the pages ask their reader to set.
	environment []string
	// names are what <name> stands for, by the words before it.
	names *strings.Replacer
}

func (s *Suite) readerOf(ctx context.Context, t *testing.T, c *cluster, namespace, exporter string) (*reader, error) {
	t.Helper()
	records, err := c.attachments(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var found v1alpha1.PrometheusJmxExporter
	var pod corev1.Pod
	if len(records) == 0 {
		return nil, errors.New("no record is there")
	}
	record := records[0]
	if err := errors.Join(
		c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &found),
		c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: record.Spec.Pod.Name}, &pod),
	); err != nil {
		return nil, err
	}
	// A kubeconfig whose default namespace is that of the pages' examples.
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	exports, err := s.output(ctx, "bash", "-euo", "pipefail", "-c", `
		eval "$(hack/cluster env)"
		cp "$KUBECONFIG" "$0"
		KUBECONFIG=$0 kubectl config set-context --current --namespace="$1" >/dev/null
		echo "$PATH"`, kubeconfig, namespace)
	if err != nil {
		return nil, err
	}
	return &reader{
		suite: s,
		environment: []string{
			"PATH=" + strings.TrimSpace(exports),
			"KUBECONFIG=" + kubeconfig,
			"NAMESPACE=" + namespace,
			"POD=" + pod.Name,
			"CONTAINER=" + pod.Spec.Containers[0].Name,
			"NODE=" + pod.Spec.NodeName,
			"EXPORTER=" + exporter,
			"REQUESTER=" + found.Annotations[v1alpha1.AnnotationRequester],
			"CONFIGMAP=" + found.Spec.Config.ConfigMapName,
		},
		names: strings.NewReplacer(
			"prometheusjmxexporter <name>", "prometheusjmxexporter "+exporter,
			"prometheusjmxexporter/<name>", "prometheusjmxexporter/"+exporter,
			"jmxattachment <name>", "jmxattachment "+record.Name,
			"jmxattachment/<name>", "jmxattachment/"+record.Name,
		),
	}, nil
}

func (r *reader) run(ctx context.Context, block Block) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// What a block leaves in the background ends with it.
	command := r.suite.command(ctx, "bash", "-euo", "pipefail", "-c", "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n"+r.names.Replace(block.Script))
	command.WaitDelay = 10 * time.Second
	command.Env = append(command.Env, r.environment...)
	output, err := command.CombinedOutput()
	if err == nil && len(output) == 0 {
		err = errors.New("it said nothing")
	}
	if err != nil {
		return fmt.Errorf("%s: %w:\n%s", block, err, output)
	}
	return nil
}
