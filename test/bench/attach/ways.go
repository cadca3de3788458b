//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// waysOf are the ways of some letters, in that order.
func waysOf(letters string) (ways []way, err error) {
	all := map[rune]way{
		'a': {letter: "a", name: "the ancestor's steps by kubectl", attach: eachPod(ancestor)},
		'b': {letter: "b", name: "one exec a pod by kubectl", attach: eachPod(oneExec)},
		'c': {letter: "c", name: "the floor, from the host", prepare: stage, attach: eachPod(loadFromOutside)},
		'd': {letter: "d", name: "the operator, exec", prepare: countBefore, attach: operate(v1alpha1.TransportExec), finish: countAfter},
		'e': {letter: "e", name: "the operator, exec, one pod alone", pods: 1, prepare: countBefore, attach: operate(v1alpha1.TransportExec), finish: countAfter},
		'f': {letter: "f", name: "the operator, ephemeral containers", prepare: countBefore, attach: operate(v1alpha1.TransportEphemeralContainer), finish: countAfter},
		'g': {letter: "g", name: "the operator, node agent", prepare: countBefore, attach: operate(v1alpha1.TransportNode), finish: countAfter},
		'h': {letter: "h", name: "the operator, node agent, one pod alone", pods: 1, prepare: countBefore, attach: operate(v1alpha1.TransportNode), finish: countAfter},
	}
	for _, letter := range letters {
		w, known := all[letter]
		if !known {
			return nil, fmt.Errorf("no way is called %c", letter)
		}
		ways = append(ways, w)
	}
	return ways, nil
}

// eachPod does the same for each pod, for so many at once.
func eachPod(do func(context.Context, *bench, corev1.Pod) error) func(context.Context, *bench, []corev1.Pod, *result) error {
	return func(ctx context.Context, b *bench, pods []corev1.Pod, r *result) error {
		before := stdinSent.Load()
		defer func() { r.counts.sent = float64(stdinSent.Load() - before) }()
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(b.parallel)
		for _, pod := range pods {
			group.Go(func() error { return do(ctx, b, pod) })
		}
		return group.Wait()
	}
}

// ancestor does what the ancestor of this operator did for a pod.
func ancestor(ctx context.Context, b *bench, pod corev1.Pod) error {
	listed, err := kubectl(ctx, nil, "exec", pod.Name, "--", "jps")
	if err != nil {
		return err
	}
	pid, err := processID(listed)
	if err != nil {
		return err
	}
	if _, err := kubectl(ctx, b.artifacts.ancestor, "exec", "-i", pod.Name, "--", "tar", "xf", "-", "-C", filepath.Dir(agentDir)); err != nil {
		return err
	}
	if _, err := kubectl(ctx, nil, "exec", pod.Name, "--", "java", "-cp", agentDir+"/loader.jar", "Loader", pid,
		agentDir+"/stock.jar", fmt.Sprintf("%d:%s/config.yaml", port, agentDir)); err != nil {
		return err
	}
	if _, err := kubectl(ctx, nil, "annotate", "pod", pod.Name, v1alpha1.AnnotationScrape+"=true",
		fmt.Sprintf("%s=%d", v1alpha1.AnnotationPort, port), "jmx-prometheus-exporter=verified"); err != nil {
		return err
	}
	return b.scrape(ctx, pod)
}

// processID is that of the application in what jps lists.
func processID(listed string) (string, error) {
	for line := range strings.Lines(listed) {
		if pid, name, _ := strings.Cut(strings.TrimSpace(line), " "); pid != "" && name != "Jps" {
			return pid, nil
		}
	}
	return "", fmt.Errorf("jps lists no JVM: %q", listed)
}

// oneExec brings the helper and the agent in, and loads it, all in one exec.
func oneExec(ctx context.Context, b *bench, pod corev1.Pod) error {
	script := fmt.Sprintf("tar xf - -C %[1]s && %[2]s/jmx-attach load --pid 1 --port %[3]d --config %[2]s/config.yaml", filepath.Dir(agentDir), agentDir, port)
	if _, err := kubectl(ctx, b.artifacts.helper, "exec", "-i", pod.Name, "--", "sh", "-c", script); err != nil {
		return err
	}
	return b.scrape(ctx, pod)
}

// stage puts the files into the containers from outside.
func stage(ctx context.Context, b *bench, pods []corev1.Pod) error {
	for _, pod := range pods {
		if _, err := call[Staging, struct{}](ctx, b.worker, "Stage", Staging{string(pod.UID), b.artifacts.floor}); err != nil {
			return err
		}
	}
	return nil
}

// loadFromOutside is the least that an attach can cost.
func loadFromOutside(ctx context.Context, b *bench, pod corev1.Pod) error {
	_, err := call[Loading, struct{}](ctx, b.worker, "Load", Loading{string(pod.UID), agentDir + "/agent.jar", agentDir + "/desired", address(pod)})
	return err
}

func (b *bench) scrape(ctx context.Context, pod corev1.Pod) error {
	_, err := call[string, struct{}](ctx, b.worker, "Scrape", address(pod))
	return err
}

func address(pod corev1.Pod) string { return fmt.Sprintf("%s:%d", pod.Status.PodIP, port) }
