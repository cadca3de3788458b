package funcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

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
	targets, err := c.activeTargets(ctx, prometheus)
	if err != nil {
		return err
	}
	found := map[string]int{}
	for _, target := range targets {
		found[target.Labels["pod"]]++
		if target.Health != "up" {
			return fmt.Errorf("target %s is %s: %s", target.ScrapeURL, target.Health, target.LastError)
		}
	}
	return once(found, pods, "targets")
}

// target is one of Prometheus' targets.
type target struct {
	Labels                                   map[string]string
	ScrapePool, ScrapeURL, Health, LastError string
}

func (c *cluster) activeTargets(ctx context.Context, prometheus corev1.Pod) ([]target, error) {
	var answer struct{ ActiveTargets []target }
	err := c.ask(ctx, prometheus, "/api/v1/targets?state=active", &answer)
	return answer.ActiveTargets, err
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

// NeverMissed does something, and waits until Prometheus has scraped each pod since, and
// found it up each time that it ever asked.
func NeverMissed(namespace string, do features.Func) features.Func {
	scrapes := func(ctx context.Context, c *cluster) (map[string]float64, error) {
		prometheus, err := c.pods(ctx, namespace, "app=prometheus")
		if err != nil {
			return nil, err
		}
		if len(prometheus) != 1 {
			return nil, fmt.Errorf("%d pods are Prometheus, not one", len(prometheus))
		}
		missed, err := c.values(ctx, prometheus[0], "min_over_time(up[1h]) == 0", "pod")
		if err == nil && len(missed) > 0 {
			err = fmt.Errorf("scrapes have failed of %v", slices.Collect(maps.Keys(missed)))
		}
		if err != nil {
			return nil, err
		}
		return c.values(ctx, prometheus[0], "count_over_time(up[1h])", "pod")
	}
	before := map[string]float64{}
	return All(
		until(func(ctx context.Context, c *cluster) (err error) {
			before, err = scrapes(ctx, c)
			return err
		}),
		do,
		until(func(ctx context.Context, c *cluster) error {
			now, err := scrapes(ctx, c)
			if err != nil {
				return err
			}
			for pod, n := range before {
				if now[pod] < n+3 {
					return fmt.Errorf("%s was scraped %g times, and %g before", pod, now[pod], n)
				}
			}
			return nil
		}),
	)
}

// values are those of an expression, by a label.
func (c *cluster) values(ctx context.Context, prometheus corev1.Pod, expression, label string) (map[string]float64, error) {
	var answer struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any // the time, and the value as text
		}
	}
	if err := c.ask(ctx, prometheus, "/api/v1/query?query="+url.QueryEscape(expression), &answer); err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for _, sample := range answer.Result {
		value, err := strconv.ParseFloat(fmt.Sprint(sample.Value[1]), 64)
		if err != nil {
			return nil, err
		}
		values[sample.Metric[label]] = value
	}
	return values, nil
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
