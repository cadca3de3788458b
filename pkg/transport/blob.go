package transport

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Blob is a file's content with its name, size and digest. It is immutable.
type Blob struct {
	helperapi.File
	// Content is nil if Load returns it.
	Content []byte
	// Load returns the content of a file that need not be in memory; nil for others. It may
	// have to read the file from somewhere.
	Load func(context.Context) ([]byte, error)
}

// Loaded returns the blobs with their contents.
func Loaded(ctx context.Context, blobs []Blob) ([]Blob, error) {
	loaded := slices.Clone(blobs)
	for i, blob := range loaded {
		if blob.Load == nil {
			continue
		}
		content, err := blob.Load(ctx)
		if err != nil {
			return nil, err
		}
		loaded[i] = Blob{File: blob.File, Content: content}
	}
	return loaded, nil
}

// NewBlob names content as helperapi.NewFile does.
func NewBlob(prefix string, content []byte, suffix string) Blob {
	return Blob{File: helperapi.NewFile(prefix, content, suffix), Content: content}
}

// size returns the sum of the sizes, in bytes.
func size(blobs []Blob) (size int64) {
	for _, blob := range blobs {
		size += blob.Size
	}
	return size
}

// Artifacts are the files that the operator brings into containers.
type Artifacts struct {
	// Helpers are the helper's binaries by machine, as uname -m names it.
	Helpers map[string]Blob
	// Agent is the jar that the JVM loads.
	Agent Blob
	// Implementation is the jar behind it.
	Implementation Blob
}

// ReadArtifacts reads the helpers (jmx-attach-amd64, jmx-attach-arm64) and the
// jars (agent.jar, exporter.jar) from two directories.
func ReadArtifacts(helpers, agent string) (*Artifacts, error) {
	a := &Artifacts{Helpers: map[string]Blob{}}
	for machine, arch := range map[string]string{"x86_64": "amd64", "aarch64": "arm64"} {
		content, err := os.ReadFile(filepath.Join(helpers, "jmx-attach-"+arch))
		if err != nil {
			return nil, fmt.Errorf("cannot read the helper for %s: %w", arch, err)
		}
		a.Helpers[machine] = NewBlob("jmx-attach-", content, "")
	}
	for name, blob := range map[string]*Blob{"agent": &a.Agent, "exporter": &a.Implementation} {
		content, err := os.ReadFile(filepath.Join(agent, name+".jar"))
		if err != nil {
			return nil, fmt.Errorf("cannot read the agent: %w", err)
		}
		*blob = NewBlob(name+"-", content, ".jar")
	}
	return a, nil
}
