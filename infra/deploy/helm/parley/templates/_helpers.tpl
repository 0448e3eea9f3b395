{{- define "parley.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Takes (dict "root" $ "part" "control"). */}}
{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Takes (dict "root" $ "part" "control"): one of our own images. */}}
{{- define "parley.image" -}}
{{ printf "%sparley-%s:%s" .root.Values.image.prefix .part (.root.Values.image.tag | default .root.Chart.AppVersion) }}
{{- end }}

{{- define "parley.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Takes a uid: ours, or the one of another's image. Its group may read the secrets. */}}
{{- define "parley.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* Takes (dict "root" $ "keys" (list "redis_url")): only what this pod needs of the Secret. */}}
{{- define "parley.secretVolume" -}}
name: secrets
secret:
  secretName: {{ .root.Values.existingSecret }}
  # 0440
  defaultMode: 288
  items:
    {{- range .keys }}
    - { key: {{ . }}, path: {{ . }} }
    {{- end }}
{{- end }}

{{- define "parley.livekitUrl" -}}
{{- if .Values.livekit.enabled -}}
ws://{{ include "parley.name" . }}-livekit:{{ .Values.livekit.port }}
{{- else -}}
{{ required "livekit.url is needed where livekit.enabled is false" .Values.livekit.url }}
{{- end -}}
{{- end }}

{{/* Settings of control and engines alike. */}}
{{- define "parley.settings" -}}
- { name: PARLEY_SECRET_FILE, value: /run/secrets/parley/parley_secret }
- { name: REDIS_URL_FILE, value: /run/secrets/parley/redis_url }
- { name: LIVEKIT_URL, value: {{ include "parley.livekitUrl" . | quote }} }
- { name: LIVEKIT_PUBLIC_URL, value: {{ .Values.livekitPublicUrl | quote }} }
- { name: LIVEKIT_API_KEY, value: parley }
- { name: LIVEKIT_API_SECRET_FILE, value: /run/secrets/parley/livekit_api_secret }
- { name: PUBLIC_URL, value: {{ .Values.publicUrl | quote }} }
{{- if .Values.blobs.s3.url }}
- { name: BLOB_S3_URL, value: {{ .Values.blobs.s3.url | quote }} }
- { name: BLOB_S3_REGION, value: {{ .Values.blobs.s3.region | quote }} }
- { name: BLOB_S3_ACCESS_KEY_FILE, value: /run/secrets/parley/s3_access_key }
- { name: BLOB_S3_SECRET_KEY_FILE, value: /run/secrets/parley/s3_secret_key }
{{- end }}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- end }}

{{/* Keys of the Secret for the bucket, if there is one. */}}
{{- define "parley.blobKeys" -}}
{{- if .Values.blobs.s3.url }}["s3_access_key", "s3_secret_key"]{{ else }}[]{{ end }}
{{- end }}

{{- define "parley.blobVolume" -}}
{{- if not (or .Values.blobs.s3.url .Values.blobs.existingClaim) }}
{{- fail "Recordings need a place that engines and control share: set blobs.s3.url or blobs.existingClaim" }}
{{- end }}
{{- if not .Values.blobs.s3.url }}
- name: blobs
  persistentVolumeClaim: { claimName: {{ .Values.blobs.existingClaim }} }
{{- end }}
{{- end }}

{{- define "parley.blobMount" -}}
{{- if not .Values.blobs.s3.url }}
- { name: blobs, mountPath: /var/lib/parley/blobs }
{{- end }}
{{- end }}

{{/* Takes (dict "port" 8080 "from" (list ...)): a rule that lets in whom the list names, and nobody where it is empty. */}}
{{- define "parley.allow" -}}
{{- if .from }}
- ports: [{ port: {{ .port }}, protocol: TCP }]
  from:
    {{- toYaml .from | nindent 4 }}
{{- end }}
{{- end }}
