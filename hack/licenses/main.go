// Command licenses collects the licenses and notices of the Go modules that are linked
// into binaries, and of Go's standard library, for the image and the plugin's archives to
// carry:
//
//	licenses -repo ../.. -o ../../LICENSES ./cmd/manager ./cmd/kubectl-jmx=linux,darwin,windows
//
// It reads packages as they are compiled for Linux, or for the systems that are named, and their modules' files in the
// module cache. A module without a license, or with one that is not on the list of those
// that allow redistribution like this, is an error.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	repo := flag.String("repo", ".", "folder of the module that the packages belong to")
	out := flag.String("o", "LICENSES", "folder to write, which is replaced")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *repo, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, repo, out string, packages []string) error {
	folders, err := linked(ctx, repo, packages)
	if err != nil {
		return err
	}
	found, err := collect(folders)
	if err != nil {
		return err
	}
	if err := classify(found); err != nil {
		return err
	}
	return write(out, found)
}
