{{- define "jmx-exporter-operator.image" -}}
{{- with .Values.image }}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "jmx-exporter-operator.args" -}}
{{- with .Values }}
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
