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
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/configuration"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// verdict is what the operator would say of a configuration.
type verdict struct {
	File     string `json:"file"`
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
	Line     int    `json:"line,omitempty"`
	Message  string `json:"message,omitempty"`
	Docs     string `json:"docs,omitempty"`
	// What an accepted configuration has and the exporter ignores.
	UnknownKeys     string `json:"unknownKeys,omitempty"`
	IneffectiveKeys string `json:"ineffectiveKeys,omitempty"`
	RepeatedKeys    string `json:"repeatedKeys,omitempty"`
}

// errRejected is the error of a check that found one.
var errRejected = errors.New("the configuration is not accepted")

func (t *tool) check() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check -f FILE",
		Short: "Check an exporter's configuration as the operator does, offline",
		Long: `Check an exporter's configuration as the operator does before it touches a pod: YAML,
size, keys, types, object names. It needs no cluster. The exit code is 0 if the
configuration is accepted, with or without warnings.

Only a JVM can judge the patterns, which are Java's regular expressions: the
canary of a rollout does, and the rollout stops if it rejects one.`,
		Example: `  kubectl jmx check -f config.yaml
  kubectl get configmap rules -o jsonpath='{.data.config\.yaml}' | kubectl jmx check -f -`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVarP(&file, "filename", "f", "", "file with the configuration; - for standard input")
	_ = c.MarkFlagRequired("filename")
	_ = c.MarkFlagFilename("filename", "yaml", "yml")
	return t.shows(c, &output.Format{}, func(context.Context, []string) (*output.View, error) {
		content, err := t.readFile(file)
		if err != nil {
			return nil, err
		}
		v := judge(file, content)
		if !v.Accepted {
			err = errRejected
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

func judge(file string, content []byte) verdict {
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
	if !v.Accepted {
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
}
