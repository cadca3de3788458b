// Package output prints what a command found, as text or for programs.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// Format is the value of the flag -o: json, yaml, jsonpath=TEMPLATE, or empty for text.
type Format string

const jsonPath = "jsonpath="

// AddFlag adds -o to a command.
func (f *Format) AddFlag(command *cobra.Command) {
	command.Flags().StringVarP((*string)(f), "output", "o", "", "json, yaml or jsonpath=TEMPLATE, for programs; by default, text")
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

// Validate returns an error if the format is unknown.
func (f Format) Validate() error {
	switch f {
	case "", "json", "yaml":
		return nil
	}
	if template, ok := strings.CutPrefix(string(f), jsonPath); ok {
		if err := jsonpath.New("output").Parse(template); err != nil {
			return fmt.Errorf("-o %s is not a JSONPath template (https://kubernetes.io/docs/reference/kubectl/jsonpath): %w", f, err)
		}
		return nil
	}
	return fmt.Errorf("there is no output format %q; -o takes json, yaml or jsonpath=TEMPLATE", string(f))
}

// Print writes a value in the format; without one, text writes it.
func (f Format) Print(w io.Writer, value any, text func(io.Writer)) error {
	var out []byte
	var err error
	switch f {
	case "json":
		out, err = json.MarshalIndent(value, "", "  ")
		out = append(out, '\n')
	case "yaml":
		out, err = yaml.Marshal(value)
	case "":
		var all strings.Builder
		text(&all)
		out = []byte(all.String())
	default:
		return printPath(w, strings.TrimPrefix(string(f), jsonPath), value)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// printPath prints what the template selects, by the names that the value has in JSON.
func printPath(w io.Writer, template string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var generic any
	if err := json.Unmarshal(content, &generic); err != nil {
		return err
	}
	path := jsonpath.New("output").AllowMissingKeys(true) // as kubectl
	if err := path.Parse(template); err != nil {
		return err
	}
	return path.Execute(terminal.Writer(w), generic) // it is not encoded, as JSON and YAML are
}
