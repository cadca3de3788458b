// Command policies generates the admission policies of config/policies, from the code and
// from config/policies/commands.json: the commands of the current and the previous
// release in containers. With -build it takes the digests of the current release from the
// build.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"banzaicloud.com/jmx-exporter-operator/internal/policies"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

func main() {
	from := flag.String("from", "config/policies", "`folder` with the commands.json of the releases that are accepted")
	out := flag.String("o", "config/policies", "`folder` to write to")
	helpers := flag.String("helpers", "", "`folder` with the helpers that were built; the digests stay as they are if it is empty")
	agent := flag.String("agent", "bin/agent", "`folder` with the jars that were built")
	previous := flag.String("previous", "", "commands.json `file` of the release before, whose current commands are accepted, too; those accepted so far if it is empty")
	flag.Parse()
	if err := run(*from, *out, *helpers, *agent, *previous); err != nil {
		fmt.Fprintln(os.Stderr, "policies:", err)
		os.Exit(1)
	}
}

func run(from, out, helpers, agent, previous string) error {
	const name = "commands.json"
	var commands policies.Commands
	switch data, err := os.ReadFile(filepath.Join(from, name)); {
	case err == nil:
		if err := json.Unmarshal(data, &commands); err != nil {
			return err
		}
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if previous != "" {
		data, err := os.ReadFile(previous)
		if err != nil {
			return err
		}
		var before policies.Commands
		if err := json.Unmarshal(data, &before); err != nil {
			return fmt.Errorf("%s: %w", previous, err)
		}
		commands.Previous = before.Current
	}
	if helpers != "" {
		artifacts, err := transport.ReadArtifacts(helpers, agent)
		if err != nil {
			return err
		}
		commands.Current = artifacts.Command()
	} else { // the script is from the code, the digests are from the last build
		command := (&transport.Artifacts{}).Command()
		if len(command) != len(commands.Current) {
			return errors.New("the arguments of a session changed: make policies builds what they are the digests of")
		}
		commands.Current[2] = command[2]
	}
	files, err := policies.Files(commands)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(commands, "", "  ")
	if err != nil {
		return err
	}
	files[name] = append(data, '\n')
	for name, content := range files {
		path := filepath.Join(out, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
