// Command sbom writes the software bill of materials of what consists of files, an image or
// the archives of a program, in CycloneDX: each file with its digest, and the components of
// the file, as reported by the tools of its language.
//
//	sbom -name app -version v1 -type container -o sbom.cdx.json /app=bin/app:app.cdx.json /lib.jar=lib.jar:lib.cdx.json:more.cdx.json
//
// If several lists of a file have a component, the first one is used. The output is
// reproducible.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// ours is the group of the agent's Maven modules, which are the jars themselves, not
// dependencies.
const ours = "com.banzaicloud.jmxexporter"

func main() {
	whole := cyclonedx.Component{}
	flag.StringVar(&whole.Name, "name", "", "name of what the files are of")
	flag.StringVar(&whole.Version, "version", "", "version of it")
	flag.StringVar((*string)(&whole.Type), "type", string(cyclonedx.ComponentTypeContainer), "CycloneDX's type of it")
	out := flag.String("o", "", "file to write")
	flag.Parse()
	whole.BOMRef = whole.Name
	if err := write(*out, whole, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(out string, whole cyclonedx.Component, files []string) error {
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &whole}
	var components []cyclonedx.Component
	for _, spec := range files {
		component, err := fileOf(spec)
		if err != nil {
			return err
		}
		components = append(components, component)
	}
	bom.Components = &components
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return file.Close()
}

// fileOf returns the component for "name=file:list[:list...]".
func fileOf(spec string) (cyclonedx.Component, error) {
	target, sources, ok := strings.Cut(spec, "=")
	source, lists, more := strings.Cut(sources, ":")
	if !ok || !more {
		return cyclonedx.Component{}, fmt.Errorf("%q: want name=file:list", spec)
	}
	digest, err := digestOf(source)
	if err != nil {
		return cyclonedx.Component{}, err
	}
	component := cyclonedx.Component{
		BOMRef: target, Type: cyclonedx.ComponentTypeFile, Name: target,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: digest}},
	}
	var parts []cyclonedx.Component
	seen := map[string]bool{}
	for list := range strings.SplitSeq(lists, ":") {
		in, err := read(list)
		if err != nil {
			return cyclonedx.Component{}, err
		}
		if in.Components == nil {
			continue
		}
		for _, part := range *in.Components {
			name := part.Group + "/" + part.Name
			if part.Group == ours || seen[name] {
				continue
			}
			seen[name] = true
			part.BOMRef = target + " " + part.BOMRef // a component of two files occurs twice
			parts = append(parts, part)
		}
	}
	component.Components = &parts
	return component, nil
}

func read(name string) (*cyclonedx.BOM, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	bom := new(cyclonedx.BOM)
	if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(bom); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return bom, nil
}

func digestOf(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}
