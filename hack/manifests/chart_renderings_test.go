package manifests

import (
	"fmt"
	"maps"
	"strings"
)

// rendering is what the chart renders with values, and the overlay that is to be the same.
type rendering struct {
	values    string // separated by spaces
	namespace string // jmx-exporter-system if empty
	// older is a cluster before Kubernetes 1.36.
	older   bool
	overlay map[string]string // kustomizations by folder, in which CONFIG stands for config
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var renderings = map[string]rendering{
	"default": {overlay: one("resources: [CONFIG/default]")},
	"before Kubernetes 1.36": {
		older:   true,
		overlay: one("resources: [CONFIG/default-1.30]"),
	},
	"without the stamp": {
		values:  "stamp.enabled=false",
		overlay: one("resources: [CONFIG/default-1.30]"),
	},
	"exec": {
		values:  "transport=Exec",
		overlay: one("resources: [CONFIG/transport-exec]"),
	},
	"ephemeral containers": {
		values:  "transport=EphemeralContainer",
		overlay: one("resources: [CONFIG/transport-door]"),
	},
	"node agents": {
		values:  "node.enabled=true",
		overlay: with("CONFIG/node"),
	},
	"node agents alone": {
		values:  "transport=Node node.enabled=true",
		overlay: one("resources: [CONFIG/transport-node]"),
	},
	"node agents in another namespace, of another image": {
		namespace: "monitoring",
		values:    "transport=Node node.enabled=true image.tag=v1",
		overlay: one("namespace: monitoring\nresources: [CONFIG/transport-node]\ntransformers: [CONFIG/policies/installation]\n" +
			"images: [{name: jmx-exporter-operator, newTag: v1}]"),
	},
	"tenants": {
		values:  "tenants.enabled=true",
		overlay: with("CONFIG/tenants"),
	},
	"next start": {
		values:  "nextStart.enabled=true",
		overlay: with("CONFIG/next-start"),
	},
	"next start in another namespace": {
		namespace: "monitoring",
		values:    "nextStart.enabled=true",
		overlay:   one("namespace: monitoring\nresources: [CONFIG/default]\ncomponents: [CONFIG/next-start]\ntransformers: [CONFIG/policies/installation]"),
	},
	"next start in the operator's own namespace": {
		namespace: "default",
		values:    "namespaces={default} metrics.secure=false metrics.port=8080 nextStart.enabled=true",
		overlay: map[string]string{
			"own": "namespace: default\nresources: [CONFIG/namespaced]\ncomponents: [CONFIG/next-start]\ntransformers: [CONFIG/policies/installation, CONFIG/policies/namespace]",
			".": `resources: [own]
patches:
  - target: {kind: Deployment}
    patch: "- {op: replace, path: /spec/template/spec/containers/0/args/0, value: --namespace=default}"
  - target: {kind: ValidatingAdmissionPolicyBinding, labelSelector: banzaicloud.com/operator-records=true}
    patch: |
      - {op: replace, path: /spec/matchResources/namespaceSelector, value: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [default]}]}}`,
		},
	},
	"next start, before Kubernetes 1.36": {
		older:   true,
		values:  "nextStart.enabled=true",
		overlay: one("resources: [CONFIG/default-1.30]"),
	},
	"network policy": {
		values:  "networkPolicy.enabled=true",
		overlay: with("CONFIG/network-policy"),
	},
	"security of endpoints": {
		values:  "endpointSecurity.enabled=true",
		overlay: with("CONFIG/endpoint-security"),
	},
	"logs": {
		values:  "logs.enabled=true",
		overlay: with("CONFIG/logs"),
	},
	"an image by its digest": {
		values:  "image.repository=registry.example:5000/operator image.digest=" + digest,
		overlay: one("resources: [CONFIG/default]\nimages: [{name: jmx-exporter-operator, newName: 'registry.example:5000/operator', digest: '" + digest + "'}]"),
	},
	"an image by its tag": {
		values:  "image.tag=v1",
		overlay: one("resources: [CONFIG/default]\nimages: [{name: jmx-exporter-operator, newTag: v1}]"),
	},
	"without policies": {
		values: "policies.enabled=false",
		overlay: one(`namespace: jmx-exporter-system
resources: [CONFIG/namespace, CONFIG/crd, CONFIG/rbac, CONFIG/users, CONFIG/manager]
components: [CONFIG/ephemeral-containers, CONFIG/metrics-auth, CONFIG/stamp]`),
	},
	"another namespace": {
		namespace: "monitoring",
		overlay:   one("namespace: monitoring\nresources: [CONFIG/default]\ntransformers: [CONFIG/policies/installation]"),
	},
	"some namespaces": {
		namespace: "ops",
		values:    "namespaces={ops,shop,bank} metrics.secure=false metrics.port=8080",
		overlay:   someNamespaces,
	},
	"the port of the metrics": {
		values:  "metrics.port=9443",
		overlay: patched("{op: add, path: ARGS/-, value: '--metrics-bind-address=:9443'}", "{op: replace, path: PORT/containerPort, value: 9443}"),
	},
	"metrics in plain HTTP": {
		values:  "metrics.secure=false",
		overlay: withoutMetricsAuth("{op: add, path: ARGS/-, value: --metrics-secure=false}"),
	},
	"without metrics": {
		values:  "metrics.enabled=false",
		overlay: withoutMetricsAuth("{op: add, path: ARGS/-, value: --metrics-bind-address=0}", "{op: remove, path: PORT}"),
	},
	"more flags": {
		values:  "extraArgs={--max-execs=8}",
		overlay: patched("{op: add, path: ARGS/-, value: --max-execs=8}"),
	},
	"several replicas": {
		values:  "replicas=2",
		overlay: patched("{op: replace, path: /spec/replicas, value: 2}"),
	},
	"secrets to pull with": {
		values:  "imagePullSecrets[0].name=registry",
		overlay: patched("{op: add, path: POD/imagePullSecrets, value: [{name: registry}]}"),
	},
	"where the operator runs": {
		values:  "nodeSelector.pool=infra priorityClassName=system-cluster-critical",
		overlay: patched("{op: add, path: POD/nodeSelector, value: {pool: infra}}", "{op: add, path: POD/priorityClassName, value: system-cluster-critical}"),
	},
	"a further release": {
		values: "crds.enabled=false sharedObjects.enabled=false nextStart.enabled=true",
		overlay: without("CustomResourceDefinition .*", "ClusterRole jmx-exporter-(view|edit|crds)", "ClusterRoleBinding jmx-exporter-crds", "ValidatingAdmissionPolicy jmx-exporter-operator-creator",
			"ValidatingAdmissionPolicyBinding jmx-exporter-operator-creator", "MutatingAdmissionPolicy .*", "MutatingAdmissionPolicyBinding .*"),
	},
	"monitors, rules and dashboards": {
		values:  "monitors.enabled=true rules.enabled=true dashboards.enabled=true",
		overlay: with("CONFIG/prometheus", "CONFIG/grafana"),
	},
	"dashboards of applications": {
		values:  "dashboards.enabled=true dashboards.applications={cassandra,kafka,tomcat}",
		overlay: with("CONFIG/grafana", "CONFIG/grafana/applications"),
	},
	"rule sets": {
		values: "ruleSets.shop={activemq,cassandra,flink,kafka,solr,spring-boot,tomcat,zookeeper}",
		overlay: map[string]string{
			".":    "resources: [CONFIG/default, shop]",
			"shop": "namespace: shop\nresources: [CONFIG/rules]",
		},
	},
	"a PodMonitor": {
		values:  "monitors.enabled=true monitors.kind=PodMonitor rules.enabled=true",
		overlay: with("CONFIG/prometheus", "CONFIG/prometheus/podmonitor"),
	},
	"monitors of some namespaces": {
		namespace: "ops",
		values:    "namespaces={ops,shop,bank} metrics.secure=false metrics.port=8080 monitors.enabled=true rules.enabled=true",
		overlay:   monitored(someNamespaces),
	},
}

func one(kustomization string) map[string]string { return map[string]string{".": kustomization} }

// with returns config/default with components.
func with(components ...string) map[string]string {
	return one("namespace: jmx-exporter-system\nresources: [CONFIG/default]\ncomponents: [" + strings.Join(components, ", ") + "]")
}

// without returns config/default without objects, each KIND NAME.
func without(objects ...string) map[string]string {
	return one("resources: [CONFIG/default]\npatches:\n" + deletions(objects))
}

// patched returns config/default whose Deployment has other fields.
func patched(operations ...string) map[string]string {
	return one("resources: [CONFIG/default]\npatches:\n" + operationsOn(operations))
}

func withoutMetricsAuth(operations ...string) map[string]string {
	return one("resources: [CONFIG/default]\npatches:\n" + operationsOn(operations) +
		deletions([]string{"ClusterRole jmx-exporter-operator-metrics-.*", "ClusterRoleBinding jmx-exporter-operator-metrics-.*"}))
}

func operationsOn(operations []string) string {
	const pod = "/spec/template/spec"
	patch := strings.NewReplacer("POD", pod, "ARGS", pod+"/containers/0/args", "PORT", pod+"/containers/0/ports/0").Replace("- " + strings.Join(operations, "\n- "))
	return fmt.Sprintf("- {target: {kind: Deployment}, patch: %q}\n", patch)
}

func deletions(objects []string) string {
	var patches strings.Builder
	for _, object := range objects {
		kind, name, _ := strings.Cut(object, " ")
		fmt.Fprintf(&patches, "- {target: {kind: %s, name: %s}, patch: %q}\n", kind, name, "$patch: delete\napiVersion: v1\nkind: any\nmetadata: {name: any}\n")
	}
	return patches.String()
}

// someNamespaces is the overlay of docs/security.md, "Some namespaces".
var someNamespaces = map[string]string{
	".": "resources: [ops, shop, bank]",
	"ops": `namespace: ops
resources: [CONFIG/namespaced]
patches:
  - target: {kind: Deployment}
    patch: |
      - {op: replace, path: /spec/template/spec/containers/0/args/0, value: "--namespace=ops,shop,bank"}
  - target: {kind: ValidatingAdmissionPolicyBinding, labelSelector: banzaicloud.com/operator-records=true}
    patch: |
      - {op: replace, path: /spec/matchResources/namespaceSelector, value: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [ops, shop, bank]}]}}
transformers: [CONFIG/policies/installation]`,
	"shop": rightsIn("shop"),
	"bank": rightsIn("bank"),
}

// monitored adds config/prometheus to someNamespaces.
func monitored(overlay map[string]string) map[string]string {
	overlay = maps.Clone(overlay)
	overlay["ops"] = strings.Replace(overlay["ops"], "patches:", `components: [CONFIG/prometheus, CONFIG/prometheus/namespaced]
patches:
  - target: {kind: ServiceMonitor, name: jmx-exporters}
    patch: |
      - {op: add, path: /spec/namespaceSelector, value: {matchNames: [ops, shop, bank]}}`, 1)
	return overlay
}

func rightsIn(namespace string) string {
	return "namespace: " + namespace + `
resources: [CONFIG/namespaced/rights]
patches:
  - target: {kind: RoleBinding}
    patch: "- {op: add, path: /subjects/0/namespace, value: ops}"`
}
