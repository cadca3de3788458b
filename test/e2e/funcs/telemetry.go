package funcs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/e2e-framework/pkg/features"
)

// measures are the operator's own metrics.
type measures map[string]float64

// measured reads the operator's own metrics.
func (c *cluster) measured(ctx context.Context) (measures, error) {
	operator, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	page, err := c.get(ctx, operator.Namespace, operator.Name, 8080, "/metrics")
	if err != nil {
		return nil, err
	}
	all := measures{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		if all[line[:i]], err = strconv.ParseFloat(line[i+1:], 64); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return all, nil
}

// sum adds up the series that begin so.
func (m measures) sum(prefix string) float64 {
	var sum float64
	for series, value := range m {
		if strings.HasPrefix(series, prefix) {
			sum += value
		}
	}
	return sum
}

// OperatorSays waits for a line in the operator's log about a record of the
// namespace. It may have said it, and lost its lease since.
func OperatorSays(namespace, message string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		operator, err := c.operator(ctx)
		if err != nil {
			return err
		}
		log, err := c.log(ctx, operator, "manager")
		if err != nil {
			return err
		}
		if restarts(*operator) > 0 {
			before, err := c.previousLog(ctx, operator, "manager", 10000)
			log += before + said(err)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, strconv.Quote(message)) && strings.Contains(line, strconv.Quote(namespace)) {
				return nil
			}
		}
		return fmt.Errorf("the operator has not said %q of a pod in %s", message, namespace)
	})
}
