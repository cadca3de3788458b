package cost

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The series of each rule in a response of a JVM 17, with names that the collector changes.
func TestSeriesOfRules(t *testing.T) {
	content, err := os.ReadFile("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	response, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	var served configuration
	if err := yaml.Unmarshal(content, &served); err != nil {
		t.Fatal(err)
	}
	c := Cost{names: seriesByName(string(response))}
	if err := c.read(string(response)); err != nil {
		t.Fatal(err)
	}
	for number := range served.Rules {
		c.Rules = append(c.Rules, Rule{Rule: number + 1})
	}
	c.explain(&served)
	var got []string
	for _, rule := range c.Rules {
		got = append(got, rule.Series.String())
	}
	if diff := cmp.Diff([]string{"2", "4", "2", "8", "3"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestUnnamed(t *testing.T) {
	for pattern, want := range map[string]string{
		`java.lang<type=(\w+)>.*`: "$1java.lang_$1", `^java\.lang<>`: "$1java.lang_$1", `(.+)<type=(\w+)>`: "$1", `.*`: "$1", "": "$1",
	} {
		if got := unnamed(pattern); got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

func TestMetricsOf(t *testing.T) {
	for _, test := range []struct {
		name      string
		lowercase bool
		can       []string
		cannot    []string
	}{
		{"orders_open", false, []string{"orders_open", "orders_open_total"}, []string{"orders", "orders_open_now", "Orders_open"}},
		{"orders_total", false, []string{"orders", "orders_total"}, []string{"order_total"}},
		{"Orders_Open", true, []string{"orders_open"}, nil},
		{"kafka_$1_$2_$3", false, []string{"kafka_server_BrokerTopicMetrics_Count", "kafka_a", "kafka_"}, []string{"jafka_a"}},
		{"a_${type}__b", false, []string{"a_b", "a_x_b", "axb"}, []string{"a_x"}},
		{"heap.used-bytes", false, []string{"heap_used_bytes"}, []string{"heapXused_bytes", "heap.used-bytes"}},
		{`cost\$1`, false, []string{"cost_1"}, []string{"cost", "cost_2"}},
		{"9lives", false, []string{"_9lives"}, nil},
		{"$1", false, []string{"anything", "a_b:c"}, nil},
		{"", false, nil, []string{"a"}},
	} {
		expression := metricsOf(test.name, test.lowercase)
		for _, name := range test.can {
			if !expression.MatchString(name) {
				t.Errorf("a rule with name %q gives no metric %s", test.name, name)
			}
		}
		for _, name := range test.cannot {
			if expression.MatchString(name) {
				t.Errorf("a rule with name %q gives a metric %s", test.name, name)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	names := map[string]int{"orders_open": 20, "java_threads": 2, "java_heap": 3, "jvm_threads_current": 1}
	for name, test := range map[string]struct {
		total int
		rules []string
		want  []Bounds
	}{
		"names tell the rules apart":     {25, []string{"orders_$1", "java_$1"}, []Bounds{{20, 20}, {5, 5}}},
		"two rules give the same names":  {25, []string{"orders_open", "java_heap", "java_$1"}, []Bounds{{20, 20}, {0, 3}, {2, 5}}},
		"one rule gives any name":        {25, []string{"$1"}, []Bounds{{25, 25}}},
		"one of two rules gives any":     {25, []string{"orders_open", "$1"}, []Bounds{{0, 20}, {5, 25}}},
		"a rule makes a name of the JVM": {26, []string{"orders_open", "java_$1", "jvm_$1"}, []Bounds{{20, 20}, {5, 5}, {1, 1}}},
		"nothing is of a rule":           {0, []string{"none"}, []Bounds{{0, 0}}},
		"the total is not true":          {3, []string{"orders_open"}, []Bounds{{20, 20}}},
	} {
		var rules []*regexp.Regexp
		for _, rule := range test.rules {
			rules = append(rules, metricsOf(rule, false))
		}
		if diff := cmp.Diff(test.want, bounds(names, test.total, rules)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
