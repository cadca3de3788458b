// Newoperator writes an operator of its own module, on the engine of this repository, from
// examples/skeleton. make new-operator and hack/new-operator run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = `Writes an operator on the engine of this repository, a Go module of its own, outside it.

  make new-operator NAME=Lighthouse GROUP=example.org MODULE=github.com/me/lighthouse DIR=$HOME/lighthouse VERSION=v0.1.0
  hack/new-operator --name=Lighthouse --group=example.org --module=github.com/me/lighthouse --dir=$HOME/lighthouse --version=v0.1.0

  NAME     the kind of the resource, singular, such as Lighthouse or BackupPolicy
  GROUP    the API group, a domain of yours, such as example.org or harbors.example.org
  MODULE   the path of the Go module, such as github.com/me/lighthouse
  DIR      the folder of the operator, new or empty, outside this repository
  VERSION  the published version of the engine that the operator requires, such as v0.1.0;
           the default is that of this checkout, if it is of a release
  ENGINE   instead of VERSION: a checkout of this repository that the operator is built with, for versions
           that are not published. ENGINE=. is this one; go.mod then has a replace, which others cannot build
  PLURAL   the plural of NAME in lower case, if the English one is not meant: PLURAL=redises

Then: cd DIR && make test. examples/README.md says what to change next.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(usage)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run does what the arguments say.
func run(ctx context.Context, args []string) error {
	var r request
	flags := flag.NewFlagSet("new-operator", flag.ContinueOnError)
	flags.Usage = func() {}
	flags.SetOutput(io.Discard) // the error is printed by main
	flags.StringVar(&r.repository, "repository", "", "")
	flags.StringVar(&r.from, "from", "", "")
	flags.StringVar(&r.name, "name", "", "")
	flags.StringVar(&r.group, "group", "", "")
	flags.StringVar(&r.module, "module", "", "")
	flags.StringVar(&r.dir, "dir", "", "")
	flags.StringVar(&r.version, "version", "", "")
	flags.StringVar(&r.engine, "engine", "", "")
	flags.StringVar(&r.plural, "plural", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not an option. hack/new-operator --help explains all", flags.Arg(0))
	}
	if r.name == "" && r.group == "" && r.module == "" && r.dir == "" {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("\nNAME, GROUP, MODULE and DIR are required")
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := write(ctx, r); err != nil {
		return err
	}
	fmt.Printf("%s is there: %s.%s, the module %s.\n", r.dir, r.plural, r.group, r.module)
	if r.engine != "" {
		fmt.Printf("Its go.mod replaces the engine by %s, which only this machine has. Before you publish it: go mod edit -dropreplace=%s && go get %s@VERSION\n", r.engine, engine, engine)
	}
	fmt.Printf("Next: cd %s && make test\n", r.dir)
	return nil
}
