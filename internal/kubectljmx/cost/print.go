package cost

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/output"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// Print writes the costs, the most expensive JVM first; with rules, also those of each rule.
func Print(w io.Writer, costs []Cost, rules bool) {
	rows := [][]string{{"POD", "JVM", "CPU", "DURATION", "ALLOCATED", "SERIES", "MBEANS", "EXPENSIVE", "COSTLIEST RULE"}}
	for _, c := range costs {
		expensive, rule := "", ""
		if c.Expensive != nil {
			expensive = c.Expensive.Reason
		}
		if len(c.Rules) > 0 {
			rule = c.Rules[0].String()
		}
		rows = append(rows, []string{
			c.Namespace + "/" + c.Pod, fmt.Sprintf("%s/%d", c.Container, c.PID), seconds(c.CPUSeconds), seconds(c.DurationSeconds), bytes(c.AllocatedBytes),
			count(c.Series), count(c.MBeans), expensive, rule,
		})
	}
	output.Table(w, rows...)
	for _, c := range costs {
		c.details(w, rules)
	}
}

func (c Cost) details(w io.Writer, rules bool) {
	name := terminal.Line(fmt.Sprintf("%s/%s %s/%d", c.Namespace, c.Pod, c.Container, c.PID))
	if c.Error != "" {
		fmt.Fprintf(w, "\n%s: %s\n", name, terminal.Line(c.Error))
	}
	if rules && len(c.Rules) > 0 {
		rows := [][]string{{"RULE", "CPU", "SERIES", "PATTERN"}}
		for _, r := range c.Rules {
			rows = append(rows, []string{fmt.Sprint(r.Rule), seconds(&r.CPUSeconds), r.Series.String(), r.Pattern})
		}
		fmt.Fprintf(w, "\n%s\n", name)
		output.Table(w, rows...)
	}
	if c.Expensive != nil {
		fmt.Fprintf(w, "\n%s: %s\n", name, advice.Link(c.Expensive.Reason))
		if names := c.Expensive.IncludeObjectNames; len(names) > 0 {
			fmt.Fprintf(w, "  to leave out MBeans without series: includeObjectNames: %q\n", names)
		}
	}
}

// String is a rule in a cell.
func (r Rule) String() string {
	if r.Pattern == "" {
		return fmt.Sprintf("%d (%s)", r.Rule, seconds(&r.CPUSeconds))
	}
	return fmt.Sprintf("%d (%s) %.60s", r.Rule, seconds(&r.CPUSeconds), r.Pattern)
}

// String is a number of series in a cell.
func (b *Bounds) String() string {
	switch {
	case b == nil:
		return ""
	case b.Min == b.Max:
		return fmt.Sprint(b.Min)
	}
	return fmt.Sprintf("%d to %d", b.Min, b.Max)
}

func seconds(v *float64) string {
	if v == nil {
		return ""
	}
	return time.Duration(*v * float64(time.Second)).Round(10 * time.Microsecond).String()
}

func bytes(v *float64) string {
	if v == nil {
		return ""
	}
	return resource.NewQuantity(int64(*v)/1024*1024, resource.BinarySI).String()
}

func count(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(int64(*v))
}
