// Package output prints what a command found, for people or for programs.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Format is the value of the flag -o: json, yaml, or empty for people.
type Format string

// AddFlag adds -o to a command.
func (f *Format) AddFlag(command *cobra.Command) {
	command.Flags().StringVarP((*string)(f), "output", "o", "", "json or yaml, for programs; by default, text for people")
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

// Validate returns an error if the format is unknown.
func (f Format) Validate() error {
	switch f {
	case "", "json", "yaml":
		return nil
	}
	return fmt.Errorf("there is no output format %q; -o takes json or yaml", string(f))
}

// Print writes a value in the format; text writes it for people.
func (f Format) Print(w io.Writer, value any, text func(io.Writer)) error {
	var out []byte
	var err error
	switch f {
	case "json":
		out, err = json.MarshalIndent(value, "", "  ")
		out = append(out, '\n')
	case "yaml":
		out, err = yaml.Marshal(value)
	default:
		var all strings.Builder
		text(&all)
		out = []byte(all.String())
	}
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}
