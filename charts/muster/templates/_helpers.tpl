{{- /* The name does not depend on the release's, so that a release under another name takes over the same objects. */}}
{{- define "muster.fullname" -}}
{{ .Values.fullnameOverride | default "muster-operator" }}
{{- end }}

{{- /* A Deployment's selector never changes, so it holds neither the release's name nor a version. */}}
{{- define "muster.selectorLabels" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/component: operator
{{- end }}

{{- /* A pod's labels hold nothing of the release either: a release under another name restarts no replica. */}}
{{- define "muster.podLabels" -}}
{{ include "muster.selectorLabels" . }}
app.kubernetes.io/part-of: muster
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- with .Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "muster.labels" -}}
{{ include "muster.selectorLabels" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: muster
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Takes a list of an image's values and the chart's appVersion. */}}
{{- define "muster.image" -}}
{{- $image := index . 0 -}}
{{ $image.repository }}{{ if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default (index . 1) }}{{ end }}
{{- end }}

{{- define "muster.priorityClassName" -}}
{{- if and .Values.priorityClass.create .Values.priorityClassName }}
{{- fail (printf "priorityClass.create makes a class for the operator: leave priorityClassName empty, it is %q" .Values.priorityClassName) }}
{{- end }}
{{- if .Values.priorityClass.create }}{{ include "muster.fullname" . }}{{ else }}{{ .Values.priorityClassName }}{{ end }}
{{- end }}

{{- /* The kubelet gives every container of the namespace a Service's address in a variable of this name. */}}
{{- define "muster.serviceHostVariable" -}}
{{ include "muster.fullname" . | upper | replace "-" "_" }}_SERVICE_HOST
{{- end }}

{{- /* The name of the Secret with the receivers of alerts; empty if there are none. */}}
{{- define "muster.alertReceivers" -}}
{{- if .Values.alerting.existingSecret -}}
{{ .Values.alerting.existingSecret }}
{{- else if .Values.alerting.receivers -}}
{{ include "muster.fullname" . }}-alert-receivers
{{- end -}}
{{- end }}
