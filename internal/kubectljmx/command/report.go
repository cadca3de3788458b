package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/bundle"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

func (t *tool) report() *cobra.Command {
	var options bundle.Options
	var file string
	c := &cobra.Command{
		Use:   "report",
		Short: "Write an archive for a bug report, without secrets",
		Long: `Write an archive for a bug report: exporters, records, their Events, the operator's
Deployment and logs as far as you may read them, and versions. It says what is in
the archive, and what you were not allowed to read.

It has no Secret, no content of a ConfigMap, no value of an environment variable, no
metric and no log of an application. Names are in it; --redact-names replaces the names of namespaces,
exporters, pods, nodes, containers, main classes, MBeans and Secrets, and the values
of labels, each by the same word everywhere. Look at the archive before you publish it:
messages and logs may have other names in them.`,
		Example: `  kubectl jmx report
  kubectl jmx report -A --redact-names --file report.tar.gz`,
		Args: cobra.NoArgs,
	}
	t.addAll(c)
	c.Flags().StringVar(&file, "file", "", "name of the archive; - for standard output (default jmx-report-TIME.tar.gz)")
	c.Flags().StringVar(&options.OperatorNamespace, "operator-namespace", "", "namespace of the operator; by default, it is looked for in all")
	c.Flags().BoolVar(&options.RedactNames, "redact-names", false, "replace names and the values of labels")
	format := &output.Format{}
	judge := func([]string) error {
		if file == "-" && !format.Text() {
			return errors.New("--file - writes the archive to standard output, where -o prints its contents: omit one of them")
		}
		return nil
	}
	return t.shows(c, format, judged(judge, t.inCluster(func(ctx context.Context, cl *cluster.Cluster, _ []string) (*output.View, error) {
		options.Namespace = t.namespace(cl)
		progress := output.NewProgress(t.ErrOut)
		gathered, err := bundle.Gather(ctx, cl, options, progress.Say)
		progress.Done()
		if err != nil {
			return nil, err
		}
		folder := "jmx-report-" + t.clock.Now().UTC().Format("20060102T150405Z")
		if file == "" {
			file = folder + ".tar.gz"
		}
		if err := t.save(file, func(w io.Writer) error { return gathered.Write(w, folder, t.clock.Now()) }); err != nil {
			return nil, err
		}
		fmt.Fprint(terminal.Writer(t.ErrOut), gathered.Contents())
		return &output.View{Value: savedReport{file, gathered}, Text: func(w io.Writer) {
			if file != "-" {
				fmt.Fprintln(w, file)
			}
		}}, nil
	})))
}

// savedReport is where an archive is, and what is in it.
type savedReport struct {
	File string `json:"file"`
	*bundle.Bundle
}

// save writes a new file, which others may not read, or standard output.
func (t *tool) save(name string, write func(io.Writer) error) (err error) {
	if name == "-" {
		return write(t.Out)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already; choose another name with --file", name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return write(file)
}
