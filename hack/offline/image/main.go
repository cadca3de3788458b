// Command image builds a container image from files and folders, without a container
// engine or a base image.
//
//	image -o archive.tar -name app:dev -entrypoint /app -layer bin/app=/app -layer etc=/etc
//
// The output is a reproducible archive for "kind load image-archive" or "docker load".
// The image's digest is printed.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// list is a flag that can be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

type options struct {
	out, name, user, workdir, arch   string
	compress                         bool
	entrypoint, command, env, layers list
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "archive to write")
	flag.StringVar(&o.name, "name", "", "name and tag of the image")
	flag.StringVar(&o.user, "user", "", "user[:group] that it runs as")
	flag.StringVar(&o.workdir, "workdir", "/", "working directory")
	flag.StringVar(&o.arch, "arch", runtime.GOARCH, "architecture that it runs on, as Go names it")
	flag.BoolVar(&o.compress, "compress", false, "compress the layers: for an image that travels further than this machine")
	flag.Var(&o.entrypoint, "entrypoint", "one word of the entrypoint (repeat)")
	flag.Var(&o.command, "cmd", "one word of the command (repeat)")
	flag.Var(&o.env, "env", "NAME=value (repeat)")
	flag.Var(&o.layers, "layer", "source=/target[,source=/target...], one layer each (repeat)")
	flag.Parse()
	if err := writeArchive(o); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func writeArchive(o options) error {
	tag, err := name.NewTag(o.name)
	if err != nil {
		return err
	}
	image, err := build(o)
	if err != nil {
		return err
	}
	if err := tarball.WriteToFile(o.out, tag, image); err != nil {
		return err
	}
	id, err := image.ConfigName()
	if err != nil {
		return err
	}
	fmt.Println(id.Hex)
	return nil
}

func build(o options) (v1.Image, error) {
	image := v1.Image(empty.Image)
	for _, spec := range o.layers {
		layer, err := layerOf(spec, o.compress)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", o.arch
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.Config = v1.Config{
		User:       o.user,
		WorkingDir: o.workdir,
		Entrypoint: o.entrypoint,
		Cmd:        o.command,
		Env:        o.env,
	}
	return mutate.ConfigFile(image, file)
}
