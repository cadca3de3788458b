//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// artifacts are the files that the ways bring into a container.
type artifacts struct {
	config []byte
	// ancestor is what the ancestor copied in: a loader, the stock exporter and its
	// configuration; helper is ours with the agent's jars. Both are tar archives.
	ancestor, helper []byte
	// floor are the files that are staged from outside.
	floor map[string][]byte
}

// agentDir is where all files go in a container.
const (
	agentDir = "/tmp/bench"
	port     = 9404
)

func readArtifacts(ctx context.Context, stock string) (*artifacts, error) {
	if stock == "" {
		out, err := exec.CommandContext(ctx, "agent/stock").Output()
		if err != nil {
			return nil, fmt.Errorf("agent/stock: %w", err)
		}
		stock = strings.TrimSpace(string(out))
	}
	loader, err := buildLoader(ctx)
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for name, file := range map[string]string{
		"stock.jar":    stock,
		"config.yaml":  "test/apps/dummyapp/jmx-exporter-config.yaml",
		"agent.jar":    "bin/agent/agent.jar",
		"exporter.jar": "bin/agent/exporter.jar",
		"jmx-attach":   "bin/jmx-attach-" + runtime.GOARCH,
	} {
		if content[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	content["loader.jar"] = loader
	content["desired"] = desired(content["exporter.jar"], content["config.yaml"])
	pick := func(names ...string) map[string][]byte {
		picked := map[string][]byte{}
		for _, name := range names {
			picked[name] = content[name]
		}
		return picked
	}
	a := &artifacts{config: content["config.yaml"], floor: pick("agent.jar", "exporter.jar", "config.yaml", "desired")}
	if a.ancestor, err = archive(pick("loader.jar", "stock.jar", "config.yaml")); err != nil {
		return nil, err
	}
	a.helper, err = archive(pick("jmx-attach", "agent.jar", "exporter.jar", "config.yaml"))
	return a, err
}

// archive is a tar archive of files under the directory bench.
func archive(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		header := &tar.Header{Name: filepath.Base(agentDir) + "/" + name, Mode: 0o755, Size: int64(len(content))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// desired is a desired file of docs/agent-protocol.md.
func desired(implementation, config []byte) []byte {
	digest := func(content []byte) string {
		sum := sha256.Sum256(content)
		return hex.EncodeToString(sum[:])
	}
	return []byte(url.Values{
		"protocol": {"1"}, "state": {"running"}, "token": {"bench"}, "port": {fmt.Sprint(port)},
		"implementation": {agentDir + "/exporter.jar"}, "implementation.sha256": {digest(implementation)},
		"config": {agentDir + "/config.yaml"}, "config.sha256": {digest(config)},
	}.Encode())
}

// buildLoader compiles the Java program that loads an agent as the ancestor's did.
func buildLoader(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "bench-loader-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	jar := filepath.Join(dir, "loader.jar")
	for _, command := range [][]string{
		{"javac", "--release", "17", "-d", dir, "test/bench/attach/loader/Loader.java"},
		{"jar", "--create", "--file", jar, "-C", dir, "Loader.class"},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", command[0], err, out)
		}
	}
	return os.ReadFile(jar)
}
