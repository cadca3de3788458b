{{/* Fails on values that contradict each other, which the schema cannot say. */}}
{{- define "jmx-exporter-operator.validate" -}}
{{- with .Values }}
{{- if and .namespaces .metrics.enabled .metrics.secure }}
{{- fail "metrics.secure: to authenticate clients takes a right of the whole cluster, which an operator with namespaces does not have; set metrics.secure or metrics.enabled to false" }}
{{- end }}
{{- if and .metrics.certificateSecret (not (and .metrics.enabled .metrics.secure)) }}
{{- fail "metrics.certificateSecret: needs metrics.enabled and metrics.secure, because plain HTTP uses no certificate" }}
{{- end }}
{{- if eq (int .metrics.port) 8081 }}
{{- fail "metrics.port: 8081 is the port of the health probes; choose another one" }}
{{- end }}
{{- if and .podDisruptionBudget.enabled (lt (int .replicas) 2) }}
{{- fail "podDisruptionBudget.enabled: needs replicas of at least 2, because with one pod there is none that stays" }}
{{- end }}
{{- if and (eq .transport "Node") (not .node.enabled) }}
{{- fail "transport: Node needs node.enabled, because the operator enters containers through node agents" }}
{{- end }}
{{- if and .node.enabled (has .transport (list "Exec" "EphemeralContainer")) }}
{{- fail (printf "node.enabled: needs transport Auto or Node, because with %s the operator uses no node agents" .transport) }}
{{- end }}
{{- if and .node.enabled .namespaces }}
{{- fail "node.enabled: a node agent reaches pods of all namespaces, and so does whoever takes the operator's token; set namespaces to none" }}
{{- end }}
{{- range $namespace, $_ := .ruleSets }}
{{- if and $.Values.namespaces (not (has $namespace $.Values.namespaces)) }}
{{- fail (printf "ruleSets.%s: the operator does not attach in this namespace; add it to namespaces" $namespace) }}
{{- end }}
{{- end }}
{{- range $arg := .extraArgs }}
{{- $flag := index (splitList "=" $arg) 0 }}
{{- range $value, $flags := include "jmx-exporter-operator.flags" $ | fromYaml }}
{{- if has $flag $flags }}
{{- fail (printf "extraArgs: %s is set by the value %s" $flag $value) }}
{{- end }}
{{- end }}
{{- if and (or (gt (int $.Values.replicas) 1) (gt (int (include "jmx-exporter-operator.shards" $)) 1)) (eq $arg "--leader-elect=false") }}
{{- fail "extraArgs: --leader-elect=false needs replicas and shards of 1, because only one operator may be active" }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The flags that values set. */}}
{{- define "jmx-exporter-operator.flags" -}}
transport: [--transport]
shards: [--total-shards, --shard]
namespaces: [--namespace, --allow-own-namespace]
tenants.enabled: [--require-rules-label]
metrics.enabled: [--metrics-bind-address]
metrics.secure: [--metrics-secure]
metrics.certificateSecret: [--metrics-cert-path]
{{- end }}
