package funcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

const prometheusPort = 9090

// Scraped waits until the Prometheus in the namespace has exactly one target for
// each pod of the application, all of them up, and a sample of the metric from
// each pod.
func Scraped(namespace, metric string, pods int) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		applications, err := c.pods(ctx, namespace, label)
		if err != nil {
			return err
		}
		if len(applications) != pods {
			return fmt.Errorf("%d pods are there, not %d", len(applications), pods)
		}
		prometheus, err := c.pods(ctx, namespace, "app=prometheus")
		if err != nil {
			return err
		}
		if len(prometheus) != 1 {
			return fmt.Errorf("%d pods are Prometheus, not one", len(prometheus))
		}
		return errors.Join(c.targets(ctx, prometheus[0], applications), c.samples(ctx, prometheus[0], metric, applications))
	})
}

func (c *cluster) targets(ctx context.Context, prometheus corev1.Pod, pods []corev1.Pod) error {
	var answer struct {
		ActiveTargets []struct {
			Labels                       map[string]string
			ScrapeURL, Health, LastError string
		}
	}
	if err := c.ask(ctx, prometheus, "/api/v1/targets?state=active", &answer); err != nil {
		return err
	}
	found := map[string]int{}
	for _, target := range answer.ActiveTargets {
		found[target.Labels["pod"]]++
		if target.Health != "up" {
			return fmt.Errorf("target %s is %s: %s", target.ScrapeURL, target.Health, target.LastError)
		}
	}
	return once(found, pods, "targets")
}

func (c *cluster) samples(ctx context.Context, prometheus corev1.Pod, metric string, pods []corev1.Pod) error {
	var answer struct {
		Result []struct{ Metric map[string]string }
	}
	if err := c.ask(ctx, prometheus, "/api/v1/query?query="+url.QueryEscape(metric), &answer); err != nil {
		return err
	}
	found := map[string]int{}
	for _, sample := range answer.Result {
		found[sample.Metric["pod"]]++
	}
	return once(found, pods, "samples of "+metric)
}

// once reports whether what was found is one of each pod, and no other's.
func once(found map[string]int, pods []corev1.Pod, what string) error {
	for _, pod := range pods {
		if found[pod.Name] != 1 {
			return fmt.Errorf("pod %s has %d %s, not one", pod.Name, found[pod.Name], what)
		}
	}
	if len(found) != len(pods) {
		return fmt.Errorf("there are %s of other pods: %v", what, found)
	}
	return nil
}

func (c *cluster) ask(ctx context.Context, prometheus corev1.Pod, question string, data any) error {
	body, err := c.get(ctx, prometheus.Namespace, prometheus.Name, prometheusPort, question)
	if err != nil {
		return err
	}
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return fmt.Errorf("%s: %w: %s", question, err, body)
	}
	return json.Unmarshal(answer.Data, data)
}
