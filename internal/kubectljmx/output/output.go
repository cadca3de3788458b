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

// View is what a command shows.
type View struct {
	// Value is for programs.
	Value any
	// Text writes it for a person.
	Text func(io.Writer)
	// Objects are those that it is about, as TYPE/NAME.
	Objects []string
}

// Format is the flag -o of a command.
type Format struct {
	// Names is whether it has -o name, because the command's view has objects.
	Names bool
	// value is json, yaml, name, jsonpath=TEMPLATE, or empty for text.
	value string
}

const (
	formatName = "name"
	jsonPath   = "jsonpath="
)

// AddFlag adds -o to a command.
func (f *Format) AddFlag(command *cobra.Command) {
	command.Flags().StringVarP(&f.value, "output", "o", "", f.formats()+", for programs; by default, text")
	complete := []cobra.Completion{"json", "yaml"}
	if f.Names {
		complete = append(complete, formatName)
	}
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(complete, cobra.ShellCompDirectiveNoFileComp))
}

func (f *Format) formats() string {
	if f.Names {
		return "json, yaml, name or jsonpath=TEMPLATE"
	}
	return "json, yaml or jsonpath=TEMPLATE"
}

// Text reports whether the format is the text for a person.
func (f *Format) Text() bool { return f.value == "" }

// YAML reports whether the format is YAML, of which several documents need a line between them.
func (f *Format) YAML() bool { return f.value == "yaml" }

// Validate returns an error if the command has no such format.
func (f *Format) Validate() error {
	switch f.value {
	case "", "json", "yaml":
		return nil
	case formatName:
		if f.Names {
			return nil
		}
	}
	if template, ok := strings.CutPrefix(f.value, jsonPath); ok {
		if err := jsonpath.New("output").Parse(template); err != nil {
			return fmt.Errorf("-o %s is not a JSONPath template (https://kubernetes.io/docs/reference/kubectl/jsonpath): %w", f.value, err)
		}
		return nil
	}
	return fmt.Errorf("there is no output format %q; -o takes %s", f.value, f.formats())
}

// Print writes a view in the format.
func (f *Format) Print(w io.Writer, v View) error {
	var out []byte
	var err error
	switch f.value {
	case "json":
		out, err = json.MarshalIndent(v.Value, "", "  ")
		out = append(out, '\n')
	case "yaml":
		out, err = yaml.Marshal(v.Value)
	case formatName:
		for _, object := range v.Objects {
			out = append(out, object+"\n"...)
		}
	case "":
		var all strings.Builder
		v.Text(&all)
		out = []byte(all.String())
	default:
		return printPath(w, strings.TrimPrefix(f.value, jsonPath), v.Value)
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
