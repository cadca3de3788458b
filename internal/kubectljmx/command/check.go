package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/judge"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// verdict is what the operator would say of a configuration.
type verdict struct {
	File string `json:"file"`
	// Accepted is true if the operator accepts the configuration, and the JVMs that were asked.
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
	Line     int    `json:"line,omitempty"`
	Message  string `json:"message,omitempty"`
	Docs     string `json:"docs,omitempty"`
	// What an accepted configuration has and the exporter ignores.
	UnknownKeys     string `json:"unknownKeys,omitempty"`
	IneffectiveKeys string `json:"ineffectiveKeys,omitempty"`
	RepeatedKeys    string `json:"repeatedKeys,omitempty"`
	// JVMs is what those of the pod say, if they were asked.
	JVMs []judge.Judgement `json:"jvms,omitempty"`
}

// Errors of a check that found one.
var (
	errRejected      = errors.New("the configuration is not accepted")
	errRejectedByJVM = errors.New("not every JVM of the pod accepts the configuration")
	errNotJudged     = errors.New("not every JVM of the pod judged the configuration")
)

func (t *tool) check() *cobra.Command {
	var file, pod, container string
	c := &cobra.Command{
		Use:   "check -f FILE [--pod POD]",
		Short: "Check an exporter's configuration as the operator does, and as a JVM does",
		Long: `Check an exporter's configuration as the operator does before it touches a pod: YAML,
size, keys, types, object names. That needs no cluster. The exit code is 0 if the
configuration is accepted, with or without warnings.

Only a JVM can judge the patterns, which are Java's regular expressions, and what
they cost there. With --pod, each JVM of a pod that the operator attached to does:
it compiles the patterns and collects once, within the limits of a scrape, and
serves what it did. It needs list on jmxattachments, get on prometheusjmxexporters
and pods, and get and create on pods/exec.`,
		Example: `  kubectl jmx check -f config.yaml
  kubectl jmx check -f config.yaml --pod payroll-0
  kubectl get configmap rules -o jsonpath='{.data.config\.yaml}' | kubectl jmx check -f -`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVarP(&file, "filename", "f", "", "file with the configuration; - for standard input")
	_ = c.MarkFlagRequired("filename")
	_ = c.MarkFlagFilename("filename", "yaml", "yml")
	c.Flags().StringVar(&pod, "pod", "", "have the JVMs of this pod judge it, too")
	_ = c.RegisterFlagCompletionFunc("pod", t.complete(recordedPods))
	c.Flags().StringVar(&container, "container", "", "with --pod: only the JVMs of this container")
	return t.shows(c, &output.Format{}, func(ctx context.Context, _ []string) (*output.View, error) {
		if container != "" && pod == "" {
			return nil, errors.New("--container needs --pod")
		}
		content, err := t.readFile(file)
		if err != nil {
			return nil, err
		}
		v := validate(file, content)
		if !v.Accepted {
			err = errRejected
		} else if pod != "" {
			if err = t.judge(ctx, &v, pod, container, content); v.JVMs == nil {
				return nil, err
			}
		}
		return &output.View{Value: v, Text: v.print}, err
	})
}

// readFile reads no more than what is judged too large.
func (t *tool) readFile(name string) ([]byte, error) {
	from := t.In
	if name != "-" {
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	return io.ReadAll(io.LimitReader(from, configuration.MaxSize+1))
}

// judge has the JVMs of a pod judge a configuration.
func (t *tool) judge(ctx context.Context, v *verdict, pod, container string, content []byte) error {
	cl, err := t.open()
	if err != nil {
		return err
	}
	if v.JVMs, err = judge.Pod(ctx, cl, t.dial, pod, container, content); err != nil {
		return err
	}
	for _, jvm := range v.JVMs {
		switch {
		case jvm.Accepted:
		case jvm.Judged:
			err = errRejectedByJVM
		case err == nil:
			err = errNotJudged
		}
	}
	v.Accepted = err == nil
	return err
}

func validate(file string, content []byte) verdict {
	warnings, err := configuration.Validate(content)
	if rejected, ok := errors.AsType[*configuration.Error](err); ok {
		return verdict{
			File: file, Reason: string(rejected.Reason), Line: rejected.Line, Message: rejected.Error(), Docs: advice.Link(string(rejected.Reason)),
		}
	}
	return verdict{
		File: file, Accepted: true, UnknownKeys: warnings.Unknown, IneffectiveKeys: warnings.Ineffective, RepeatedKeys: warnings.Repeated,
	}
}

func (v verdict) print(w io.Writer) {
	w = terminal.Writer(w)
	if v.Reason != "" {
		fmt.Fprintf(w, "%s: %s: %s\n%s\n", v.File, v.Reason, v.Message, v.Docs)
		return
	}
	fmt.Fprintf(w, "%s: accepted\n", v.File)
	if v.UnknownKeys != "" {
		fmt.Fprintf(w, "warning: unknown keys, which the exporter ignores: %s\n", v.UnknownKeys)
	}
	if v.IneffectiveKeys != "" {
		fmt.Fprintf(w, "warning: keys without effect in an agent: %s\n", v.IneffectiveKeys)
	}
	if v.RepeatedKeys != "" {
		fmt.Fprintf(w, "warning: all but the last of repeated keys have no effect: those on %s\n", v.RepeatedKeys)
	}
	if len(v.JVMs) > 0 {
		fmt.Fprintln(w)
		judge.Print(w, v.JVMs)
	}
}
