// Command dashboards writes the Grafana dashboards into a folder, a JSON file each.
//
//	dashboards FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards FOLDER")
		os.Exit(2)
	}
	for _, b := range []board{fleet, jvm, operator} {
		if err := write(os.Args[1], b); err != nil {
			fmt.Fprintln(os.Stderr, "dashboards:", err)
			os.Exit(1)
		}
	}
}

func write(folder string, b board) error {
	built, err := b.build()
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	data, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, b.name+".json"), append(data, '\n'), 0o644)
}
