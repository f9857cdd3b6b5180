{{/*
The objects in files/ are what kustomize makes of manifests/ (`make chart`). These templates change them in place, by the
values alone, and print nothing.
*/}}

{{- define "tradewind.adjust" -}}
{{- $object := .object -}}
{{- $values := .root.Values -}}
{{- $name := $object.metadata.name -}}
{{- if eq $object.kind "Deployment" -}}
  {{- $sizes := dict "tradewind" $values "tradewind-planner" $values.planner -}}
  {{- $size := get $sizes $name | default dict -}}
  {{- with $size.replicas -}}
    {{- $_ := set $object.spec "replicas" . -}}
  {{- end -}}
  {{- if and (eq $name "tradewind") $values.components.bind -}}
    {{- $_ := set $object.spec "replicas" 1 -}}
  {{- end -}}
  {{- include "tradewind.pod" (dict "spec" $object.spec.template.spec "root" .root "name" $name "resources" ($size.resources | default dict)) -}}
{{- else if eq $object.kind "CronJob" -}}
  {{- include "tradewind.pod" (dict "spec" $object.spec.jobTemplate.spec.template.spec "root" .root "name" $name "resources" dict) -}}
{{- else if and (eq $object.kind "ConfigMap") (eq $name "tradewind") $values.config -}}
  {{- $head := dict "apiVersion" "tradewind.dev/v1alpha1" "kind" "TradewindConfiguration" -}}
  {{- $_ := set $object.data "tradewind.yaml" (toYaml (merge $head $values.config)) -}}
{{- else if and (eq $object.kind "Service") (hasKey $object.spec "clusterIP") -}}
  {{- $_ := set $object.spec "clusterIP" $values.clusterIP -}}
{{- else if and (hasPrefix "MutatingAdmissionPolicy" $object.kind) (index $values.components "hold-v1beta1") -}}
  {{- $_ := set $object "apiVersion" "admissionregistration.k8s.io/v1beta1" -}}
{{- end -}}
{{- end -}}

{{- define "tradewind.pod" -}}
{{- $spec := .spec -}}
{{- $values := .root.Values -}}
{{- with $values.nodeSelector -}}
  {{- $_ := set $spec "nodeSelector" (merge (deepCopy .) ($spec.nodeSelector | default dict)) -}}
{{- end -}}
{{- with $values.tolerations -}}
  {{- $_ := set $spec "tolerations" . -}}
{{- end -}}
{{- with $values.imagePullSecrets -}}
  {{- $_ := set $spec "imagePullSecrets" . -}}
{{- end -}}
{{- range concat ($spec.initContainers | default list) $spec.containers -}}
  {{- if eq .name "kube-scheduler" -}}
    {{- /* Providers append their own build to the version: v1.36.3-eks-1234567. */ -}}
    {{- $version := regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" $.root.Capabilities.KubeVersion.Version -}}
    {{- $image := dict "value" "schedulerImage" "program" "kube-scheduler" "image" $values.schedulerImage "tag" $version -}}
    {{- $_ := set . "image" (include "tradewind.image" $image) -}}
  {{- else -}}
    {{- $image := dict "value" "image" "program" "tradewind" "image" $values.image "tag" $.root.Chart.AppVersion -}}
    {{- $_ := set . "image" (include "tradewind.image" $image) -}}
    {{- $_ := set . "imagePullPolicy" $values.image.pullPolicy -}}
    {{- if $.resources -}}
      {{- $_ := set . "resources" $.resources -}}
    {{- end -}}
    {{- if $values.priceList -}}
      {{- range .env | default list -}}
        {{- if eq .name "PRICE_LIST" -}}
          {{- $_ := set . "value" $values.priceList -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
    {{- include "tradewind.switches" (dict "container" . "spec" $spec "name" $.name "root" $.root) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- define "tradewind.image" -}}
{{- if not .image.repository -}}
  {{- fail (printf "%s.repository is not set. Name the image that your nodes can pull: --set %s.repository=REGISTRY/%s (docs/install.md)" .value .value .program) -}}
{{- end -}}
{{- .image.repository -}}
{{- if .image.digest -}}
  {{- with .image.tag -}}:{{ . }}{{- end -}}
  @{{ .image.digest }}
{{- else -}}
  :{{ .image.tag | default .tag }}
{{- end -}}
{{- end -}}

{{/* What a component changes in pods that are there anyway; files/switches.yaml has it by component and Deployment. */}}
{{- define "tradewind.switches" -}}
{{- $switches := .root.Files.Get "files/switches.yaml" | fromYaml -}}
{{- range $component, $on := .root.Values.components -}}
  {{- if $on -}}
    {{- $added := dig $component $.name dict $switches -}}
    {{- range $key := list "env" "volumeMounts" -}}
      {{- with get $added $key -}}
        {{- $_ := set $.container $key (concat (get $.container $key | default list) .) -}}
      {{- end -}}
    {{- end -}}
    {{- with $added.volumes -}}
      {{- $_ := set $.spec "volumes" (concat ($.spec.volumes | default list) .) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}
