package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/bundle"
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
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := t.open()
			if err != nil {
				return err
			}
			options.Namespace = t.namespace(cl)
			progress := output.NewProgress(t.ErrOut)
			gathered, err := bundle.Gather(c.Context(), cl, options, progress.Say)
			progress.Done()
			if err != nil {
				return err
			}
			folder := "jmx-report-" + t.clock.Now().UTC().Format("20060102T150405Z")
			if file == "" {
				file = folder + ".tar.gz"
			}
			if err := t.save(file, func(w io.Writer) error { return gathered.Write(w, folder, t.clock.Now()) }); err != nil {
				return err
			}
			fmt.Fprint(terminal.Writer(t.ErrOut), gathered.Contents())
			if file != "-" {
				fmt.Fprintln(t.Out, file)
			}
			return nil
		},
	}
	t.addAll(c)
	c.Flags().StringVar(&file, "file", "", "name of the archive; - for standard output (default jmx-report-TIME.tar.gz)")
	c.Flags().StringVar(&options.OperatorNamespace, "operator-namespace", "", "namespace of the operator; by default, it is looked for in all")
	c.Flags().BoolVar(&options.RedactNames, "redact-names", false, "replace names and the values of labels")
	return c
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
