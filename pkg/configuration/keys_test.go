package configuration

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// Each key of the exporter's reference, with right, wrong and borderline values.
func init() {
	for _, key := range []string{"lowercaseOutputName", "lowercaseOutputLabelNames", "inferCounterTypeFromName", "autoExcludeObjectNameAttributes"} {
		add(key, "Off", ok)
		add(key, "'true'", refused(1, key+" must be true or false and is a string"))
		add(key, "1", refused(1, key+" must be true or false and is an integer"))
		add(key, "", refused(1, key+" must be true or false and is nothing"))
	}
	add("excludeJvmMetrics", "'true'", refused(1, "excludeJvmMetrics must be true or false and is a string"))

	for _, key := range []string{"includeObjectNames", "excludeObjectNames", "whitelistObjectNames", "blacklistObjectNames"} {
		add(key, "['a:b=c', 'a*:b=?,*', '*:*', '']", ok)
		add(key, "[ 'a:b=c', 'a' ]", refused(1, key+"[1] is not an object name (domain:key=value,…): it has no colon after a domain"))
		add(key, "['a:b']", refused(1, key+"[0] is not an object name (domain:key=value,…): a property has no ="))
		add(key, "['a:b=c,']", refused(1, key+"[0] is not an object name (domain:key=value,…): something follows its last property"))
		add(key, "[null]", refused(1, key+"[0] must be a string and is nothing"))
		add(key, "'a:b=c'", refused(1, key+" must be a list and is a string"))
		add(key, "", refused(1, key+" must be a list and is nothing"))
	}
	for _, key := range []string{"includeObjectNameAttributes", "excludeObjectNameAttributes"} {
		add(key, "{'a:b=c': [D, E], 'a:*': []}", ok)
		add(key, "{'a:b=c,b=d': [D]}", refused(1, "a key of "+key+" is not an object name (domain:key=value,…): a key is repeated"))
		add(key, "{1: [D]}", refused(1, "a key of "+key+" must be a string and is an integer; put it in quotes"))
		add(key, "{'a:b=c': D}", refused(1, "a value of "+key+" must be a list and is a string"))
		add(key, "['a:b=c']", refused(1, key+" must be a mapping and is a list"))
		add(key, "", refused(1, key+" must be a mapping and is nothing"))
	}

	// The agent removes these, so their values do not count.
	for key, wrong := range map[string]string{"username": "1", "password": "[a]", "ssl": "{enabled: 1}"} {
		add(key, wrong, looser(key))
	}
	add("username", "${UNDEFINED_VARIABLE}", looser("username"))
	add("ssl", "false", noEffect("ssl"))
	add("openTelemetry", "{endpoint: 'http://127.0.0.1:4317', interval: 60}", noEffect("openTelemetry"))
	add("openTelemetry", "", noEffect("openTelemetry"))
	for _, local := range []string{"localhost:9010", "LocalHost", "127.0.0.1:7199", "127.1.2.3:1", "'[::1]:9010'", "':9010'", ""} {
		add("hostPort", local, noEffect("hostPort"))
	}
	other := func(key string) want { return forbids(1, key+" is not allowed: "+otherHostMessage) }
	for _, remote := range []string{"db:9010", "localhost.example.com:1", "127.0.0.1.example.com:1", "128.0.0.1:1", "9010", "[a]", "user@localhost:1", "'[::2]:1'", "localhost:a"} {
		add("hostPort", remote, other("hostPort"))
	}
	for _, local := range []string{
		"service:jmx:rmi:///jndi/rmi://localhost:9010/jmxrmi", "service:jmx:rmi://127.0.0.1:9011/jndi/rmi://[::1]:9010/jmxrmi",
		"service:jmx:rmi:///", "service:jmx:jmxmp://localhost:5555", "''", "",
	} {
		add("jmxUrl", local, noEffect("jmxUrl"))
	}
	for _, remote := range []string{
		"service:jmx:rmi:///jndi/rmi://db:9010/jmxrmi", "service:jmx:rmi://db/jndi/rmi://localhost:9010/jmxrmi",
		"service:jmx:rmi://localhost/jndi/rmi://db:9010/jmxrmi", "service:jmx:remote+http://wildfly:9990", "localhost:9010",
	} {
		add("jmxUrl", remote, other("jmxUrl"))
	}
	number := other("jmxUrl")
	number.collector = refuses
	add("jmxUrl", "1", number)
	for key, w := range map[string]want{
		"attrNameSnakeCase: 'true'":  refused(1, "rules[0].attrNameSnakeCase must be true or false and is a string"),
		"attrNameSnakeCase: ":        refused(1, "rules[0].attrNameSnakeCase must be true or false and is nothing"),
		"cache: 1":                   refused(1, "rules[0].cache must be true or false and is an integer"),
		"help: [a]":                  refused(1, "rules[0].help must be a string and is a list"),
		"labels: {}":                 ok,
		"labels: {c: '1'}":           ok,
		"labels: {c: 1.5}":           refused(1, "a value of rules[0].labels must be a string and is a number; put it in quotes"),
		"labels: {c: true}":          refused(1, "a value of rules[0].labels must be a string and is a boolean; put it in quotes"),
		"labels: {c: [d]}":           refused(1, "a value of rules[0].labels must be a string and is a list"),
		"labels: {1: d, '1': e}":     refused(1, "a key of rules[0].labels must be a string and is an integer; put it in quotes"),
		"labels: {? [c] : d, '': e}": refused(1, "a key of rules[0].labels must be a string and is a list"),
		"labels: ":                   refused(1, "rules[0].labels must be a mapping and is nothing"),
		"type: COUNTER":              ok,
		"type: 1":                    refused(1, "rules[0].type must be a string and is an integer; put it in quotes"),
		"value: [a]":                 ok,
		"valueFactor: -.5e3":         ok,
		"valueFactor: 1e400":         ok,
	} {
		configurations["rules/"+key] = tableRow{"A value of a rule's key.", "rules: [{pattern: a, name: b, " + key + "}]", w}
	}
	filtered := "metricCustomizers: [{mbeanFilter: {domain: a}, "
	for content, w := range map[string]want{
		filtered + "attributesAsLabels: [b]}]":                                      ok,
		filtered + "attributesAsLabels: []}]":                                       ok,
		filtered + "attributesAsLabels: b}]":                                        refused(1, "metricCustomizers[0].attributesAsLabels must be a list and is a string"),
		filtered + "attributesAsLabels: [1]}]":                                      stricter(1, "metricCustomizers[0].attributesAsLabels[0] must be a string and is an integer; put it in quotes"),
		filtered + "extraMetrics: []}]":                                             ok,
		filtered + "extraMetrics: {name: b, value: 1}}]":                            refused(1, "metricCustomizers[0].extraMetrics must be a list and is a mapping"),
		filtered + "extraMetrics: [{name: b, value: c}]}]":                          ok,
		filtered + "extraMetrics: [{name: 1, value: 1}]}]":                          refused(1, "metricCustomizers[0].extraMetrics[0].name must be a string and is an integer; put it in quotes"),
		filtered + "extraMetrics: [{name: b, value: 1, description: 1}]}]":          refused(1, "metricCustomizers[0].extraMetrics[0].description must be a string and is an integer; put it in quotes"),
		"metricCustomizers: []":                                                     ok,
		"metricCustomizers: [{mbeanFilter: {domain: 1}, attributesAsLabels: []}]":   refused(1, "metricCustomizers[0].mbeanFilter.domain must be a string and is an integer; put it in quotes"),
		"metricCustomizers: [{mbeanFilter: a, attributesAsLabels: []}]":             refused(1, "metricCustomizers[0].mbeanFilter must be a mapping and is a string"),
		"metricCustomizers: [{mbeanFilter: {domain: ''}, attributesAsLabels: [b]}]": ok,
	} {
		configurations[content] = tableRow{"A value of a customizer's key.", content, w}
	}
	configurations["HostPortAndURL"] = tableRow{"Both have no effect.", "hostPort: localhost:1\njmxUrl: service:jmx:rmi://localhost", looser("hostPort, jmxUrl")}
}

func add(key, value string, w want) {
	configurations[key+"/"+value] = tableRow{"A value of a key of the reference.", key + ": " + value, w}
}

// The agent keeps the keys that have an effect, and may refuse those that do not.
func TestKeysOfAgent(t *testing.T) {
	content, err := os.ReadFile("../../agent/exporter/src/main/java/com/banzaicloud/jmxexporter/exporter/Keys.java")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	list := regexp.MustCompile(`(?s)asList\((.*?)\)\)`).FindSubmatch(content)
	for _, key := range regexp.MustCompile(`"(\w+)"`).FindAllSubmatch(list[1], -1) {
		got = append(got, string(key[1]))
	}
	slices.Sort(got)
	var want []string
	for _, key := range slices.Sorted(maps.Keys(rootKeys)) {
		c := &checker{}
		_ = rootKeys[key](c, key, &yaml.Node{Kind: yaml.ScalarNode})
		if len(c.ineffective) == 0 && key != "httpServer" {
			want = append(want, key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys that have an effect (-pkg/configuration +agent):\n%s", diff)
	}
}
