{{/*
The objects of config are in files/, unchanged (hack/chart): these templates do to them what
the overlays of config do with kustomize. Each rule stands in config alone.
*/}}

{{/* Renders the objects of a part of config as they are: (list $ "PART"). */}}
{{- define "jmx-exporter-operator.objects" -}}
{{- $ := index . 0 }}
{{- range include "jmx-exporter-operator.read" . | fromJsonArray }}
{{- include "jmx-exporter-operator.object" (list $ .) }}
{{- end }}
{{- end }}

{{/*
Renders the rights of a part: with namespaces, those of the cluster become those of each.
With the transport Node, the operator executes in its own namespace alone (config/node).
*/}}
{{- define "jmx-exporter-operator.rights" -}}
{{- $ := index . 0 }}
{{- range include "jmx-exporter-operator.read" . | fromJsonArray }}
{{- if and (eq $.Values.transport "Node") (eq .kind "ClusterRole") }}
{{- $rules := list }}
{{- range .rules }}
{{- if ne (toJson .resources) (toJson (list "pods/exec")) }}{{ $rules = append $rules . }}{{ end }}
{{- end }}
{{- $_ := set . "rules" $rules }}
{{- end }}
{{- if and $.Values.namespaces (hasPrefix "ClusterRole" .kind) }}
{{- $_ := set . "kind" (trimPrefix "Cluster" .kind) }}
{{- with .roleRef }}{{ $_ := set . "kind" "Role" }}{{ end }}
{{- $object := . }}
{{- range $.Values.namespaces }}
{{- $_ := set $object.metadata "namespace" . }}
{{- include "jmx-exporter-operator.object" (list $ $object) }}
{{- end }}
{{- else }}
{{- include "jmx-exporter-operator.object" (list $ .) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Returns the objects of a part, with the namespace of the release, as JSON. */}}
{{- define "jmx-exporter-operator.read" -}}
{{- $ := index . 0 }}
{{- $objects := list }}
{{- range $path, $_ := $.Files.Glob (printf "files/%s/*.yaml" (index . 1)) }}
{{- range regexSplit "(?m)^---$" ($.Files.Get $path | replace "jmx-exporter-system" $.Release.Namespace) -1 }}
{{- with fromYaml . }}
{{- if .Error }}{{ fail (printf "%s: %s" $path .Error) }}{{ end }}
{{- $objects = append $objects . }}
{{- end }}
{{- end }}
{{- end }}
{{- if not $objects }}{{ fail (printf "the chart has no files of %s" (index . 1)) }}{{ end }}
{{- toJson $objects }}
{{- end }}

{{/* Renders an object as one of the release: (list $ OBJECT). */}}
{{- define "jmx-exporter-operator.object" -}}
{{- $ := index . 0 }}
{{- $object := index . 1 }}
{{- $meta := $object.metadata }}
{{- $_ := set $meta "labels" (merge (dict) (include "jmx-exporter-operator.labels" $ | fromYaml) ($meta.labels | default dict)) }}
{{- if not (regexMatch "^(Cluster.*|CustomResourceDefinition|.*AdmissionPolicy.*)$" $object.kind) }}
{{- $_ := set $meta "namespace" ($meta.namespace | default $.Release.Namespace) }}
{{- end }}
{{- range $object.subjects }}
{{- if eq .kind "ServiceAccount" }}
{{- $_ := set . "namespace" $.Release.Namespace }}
{{- end }}
{{- end }}
{{- /* In other namespaces, other installations write records. */}}
{{- if and $.Values.namespaces (get $meta.labels "banzaicloud.com/operator-records") }}
{{- $in := dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" $.Values.namespaces }}
{{- $_ := set $object.spec "matchResources" (dict "namespaceSelector" (dict "matchExpressions" (list $in))) }}
{{- end }}
{{- /* It attaches in its own namespace, so the policy does not leave that alone, as config/policies/namespace. */}}
{{- if and (eq $object.kind "MutatingAdmissionPolicy") (eq (get $meta.labels "app.kubernetes.io/component") "next-start") (has $.Release.Namespace ($.Values.namespaces | default list)) }}
{{- $_ := set (index $object.spec.matchConstraints.namespaceSelector.matchExpressions 0) "values" (list "kube-system" "kube-system") }}
{{- end }}
{{- /* Without the kinds, there would be no exporter and no record of an agent. */}}
{{- if eq $object.kind "CustomResourceDefinition" }}
{{- $_ := set $meta "annotations" (merge (dict "helm.sh/resource-policy" "keep") ($meta.annotations | default dict)) }}
{{- end }}
---
{{ toYaml $object }}
{{ end }}

{{/* Renders an object of prometheus-operator with labels that a Prometheus selects by: (list $ OBJECT LABELS). */}}
{{- define "jmx-exporter-operator.monitoring" -}}
{{- $object := index . 1 }}
{{- $_ := set $object.metadata "labels" (merge (dict) (index . 2) $object.metadata.labels) }}
{{- include "jmx-exporter-operator.object" (list (index . 0) $object) }}
{{- end }}

{{/* Renders dashboards as a ConfigMap that Grafana's sidecar finds: (list $ NAME FILES). */}}
{{- define "jmx-exporter-operator.dashboards" -}}
{{- $ := index . 0 }}
{{- $data := dict }}
{{- range $path, $content := $.Files.Glob (printf "files/grafana/%s.json" (index . 2)) }}
{{- $_ := set $data (base $path) (toString $content) }}
{{- end }}
{{- $meta := dict "name" (index . 1) "namespace" $.Values.dashboards.namespace "labels" (dict) }}
{{- $object := dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $meta "data" $data }}
{{- include "jmx-exporter-operator.monitoring" (list $ $object $.Values.dashboards.labels) }}
{{- end }}

{{- define "jmx-exporter-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
{{- end }}
