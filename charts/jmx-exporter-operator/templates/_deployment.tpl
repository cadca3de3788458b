{{- define "jmx-exporter-operator.image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The number of shards: one with the values of an earlier chart (--reuse-values). */}}
{{- define "jmx-exporter-operator.shards" -}}
{{- max 1 (int .Values.shards) }}
{{- end }}

{{/* Labels of the pods of a shard: (list $ INDEX). */}}
{{- define "jmx-exporter-operator.shardLabels" -}}
app.kubernetes.io/name: jmx-exporter-operator
{{- if gt (int (include "jmx-exporter-operator.shards" (index . 0))) 1 }}
banzaicloud.com/shard: {{ index . 1 | quote }}
{{- end }}
{{- end }}

{{/* Arguments of a shard: (list $ INDEX). */}}
{{- define "jmx-exporter-operator.args" -}}
{{- $ := index . 0 }}
{{- $shard := index . 1 }}
{{- with $.Values }}
{{- if gt (int (include "jmx-exporter-operator.shards" $)) 1 }}
- --total-shards={{ .shards }}
- --shard={{ $shard }}
{{- end }}
{{- with .namespaces }}
- --namespace={{ join "," . }}
{{- if has $.Release.Namespace . }}
- --allow-own-namespace
{{- end }}
{{- end }}
{{- if ne .transport "Auto" }}
- --transport={{ .transport }}
{{- end }}
{{- if .tenants.enabled }}
- --require-rules-label
{{- end }}
{{- if not .metrics.enabled }}
- --metrics-bind-address=0
{{- else }}
{{- if not .metrics.secure }}
- --metrics-secure=false
{{- end }}
{{- if ne (int .metrics.port) 8443 }}
- --metrics-bind-address=:{{ .metrics.port }}
{{- end }}
{{- if .metrics.certificateSecret }}
- --metrics-cert-path=/metrics-certificate
{{- end }}
{{- end }}
{{- range .extraArgs }}
- {{ quote . }}
{{- end }}
{{- end }}
{{- end }}
