{{- define "muster.nodeAgentSelectorLabels" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/component: node-agent
{{- end }}

{{- define "muster.nodeAgentLabels" -}}
{{ include "muster.nodeAgentSelectorLabels" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: muster
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
