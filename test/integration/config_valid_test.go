package integration

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// An invalid configuration is reported by every pod of the exporter, by the exporter and
// by an Event. Nothing is loaded, a periodic reinspection has no effect, and correcting
// the configuration is enough.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		content string // of the ConfigMap; no ConfigMap if empty
		key     string // that the exporter refers to, if not the default
		want    string
		says    string
	}{
		"the ConfigMap is missing":            {want: v1alpha1.ReasonConfigMapMissing, says: "ConfigMap rules (spec.config.configMapName) does not exist"},
		"the key is missing":                  {content: rules, key: "other.yaml", want: v1alpha1.ReasonConfigKeyMissing, says: "no key other.yaml"},
		"the content is not YAML":             {content: "rules: {", want: v1alpha1.ReasonConfigNotYAML, says: "is not YAML"},
		"a key is unknown":                    {content: rules + "- patern: x\n", want: v1alpha1.ReasonConfigInvalid, says: "line 3"},
		"a value has the wrong type":          {content: "rules: all\n", want: v1alpha1.ReasonConfigInvalid, says: "line 1"},
		"an object name is none":              {content: "excludeObjectNames: [java.lang]\n" + rules, want: v1alpha1.ReasonConfigInvalid, says: "is not an object name"},
		"httpServer is set":                   {content: "httpServer: {}\n" + rules, want: v1alpha1.ReasonConfigForbidden, says: "spec.endpointSecurity"},
		"hostPort names another host":         {content: "hostPort: db:9010\n" + rules, want: v1alpha1.ReasonConfigForbidden, says: "hostPort"},
		"jmxUrl names another host":           {content: "jmxUrl: service:jmx:rmi://x\n" + rules, want: v1alpha1.ReasonConfigForbidden, says: "jmxUrl"},
		"the content is larger than 256 KiB":  {content: rules + strings.Repeat("# padding\n", 30000), want: v1alpha1.ReasonConfigTooLarge, says: "at most 262144"},
		"the content has a control character": {content: rules + "# \x01\n", want: v1alpha1.ReasonConfigNotYAML, says: "line 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			o := c.operate()
			pod := c.run(aPod("app-0"))
			if tc.content != "" {
				c.configure(tc.content)
			}
			e := c.anExporter("exporter")
			e.Spec.Config.ConfigMapKey = cmp.Or(tc.key, e.Spec.Config.ConfigMapKey)
			create(t, e)

			again := o.settle()
			refusal{phase: v1alpha1.PhaseJavaFound, reason: tc.want, says: tc.says}.is(o, pod)
			if again != 0 && again != 10*time.Minute {
				t.Errorf("the pod is reconciled again after %s, although an event triggers that", again)
			}
			o.did()
			c.later(again)
			if o.settle(); o.count() > 0 {
				t.Errorf("effects of a reconciliation without a change: got %q, want none", o.did())
			}
			get(t, e)
			for kind, want := range map[string]metav1.ConditionStatus{
				v1alpha1.ConditionConfigValid: metav1.ConditionFalse,
				v1alpha1.ConditionReady:       metav1.ConditionFalse,
				v1alpha1.ConditionStalled:     metav1.ConditionTrue,
			} {
				condition := meta.FindStatusCondition(e.Status.Conditions, kind)
				if condition.Status != want || condition.Reason != tc.want || !strings.Contains(condition.Message, tc.says) {
					t.Errorf("condition %s of the exporter: got %s %s %q, want %s %s with %q", kind, condition.Status, condition.Reason, condition.Message, want, tc.want, tc.says)
				}
			}

			c.configure(rules)
			change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Config.ConfigMapKey = "config.yaml" })
			o.settle()
			(&story{c, pod, e}).isAnnotated("9400")
		})
	}
}

// Keys that the agent ignores do not prevent an attach. They are reported as long as they
// are in the configuration, also by the next operator.
func TestUnknownKeysIgnored(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	s.configure("attrNameSnakeCase: true\n" + rules)
	s.exporter = create(t, s.anExporter("exporter"))
	says := func(reason string, words ...string) {
		t.Helper()
		get(t, s.exporter)
		valid := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid)
		if valid.Status != metav1.ConditionTrue || valid.Reason != reason {
			t.Errorf("ConfigValid: got %s %s %q, want True %s", valid.Status, valid.Reason, valid.Message, reason)
		}
		for _, word := range words {
			if !strings.Contains(valid.Message, word) {
				t.Errorf("message of ConfigValid: got %q, want it to contain %q", valid.Message, word)
			}
		}
	}
	o.settle()
	s.isAnnotated("9400")
	says(v1alpha1.ReasonUnknownKeysIgnored, `those on line 1`, "ConfigMap rules", "config.yaml")
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
		want := kind == v1alpha1.ConditionReady
		if got := meta.IsStatusConditionTrue(s.exporter.Status.Conditions, kind); got != want {
			t.Errorf("condition %s: got %t, want %t", kind, got, want)
		}
	}

	o = s.operate()
	o.settle()
	says(v1alpha1.ReasonUnknownKeysIgnored, `those on line 1`)

	s.configure("hostPort: localhost:9010\n" + rules)
	o.settle()
	says(v1alpha1.ReasonKeysIgnored, "without effect in an agent: hostPort")
	s.isAnnotated("9400")

	s.configure(rules)
	o.settle()
	says(v1alpha1.ReasonValid)
	s.isAnnotated("9400")
}
