// Command dashboards writes the Grafana dashboards into a folder, a JSON file each, and
// those of applications into its folder applications.
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
	for folder, boards := range map[string][]board{
		os.Args[1]: {fleet, jvm, operator},
		filepath.Join(os.Args[1], "applications"): {kafka, cassandra, tomcat},
	} {
		for _, b := range boards {
			if err := write(folder, b); err != nil {
				fmt.Fprintln(os.Stderr, "dashboards:", err)
				os.Exit(1)
			}
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
