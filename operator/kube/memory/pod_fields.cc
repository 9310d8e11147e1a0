#include "operator/kube/memory/pod_fields.h"

#include <cstddef>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace muster::kube {
namespace {

// A message's fields: "name", or "name:Message" for a field that holds a message or a list of them.
// Taken from the generated.proto files of k8s.io/api/core/v1 and k8s.io/apimachinery in Kubernetes
// 1.35, with the fields of inlined messages in their place. Values of maps are not checked.
struct Row {
  const char* message;
  const char* fields;
};
constexpr Row kRows[] = {
    {"PodSpec",
     "volumes:Volume initContainers:Container containers:Container "
     "ephemeralContainers:EphemeralContainer restartPolicy terminationGracePeriodSeconds "
     "activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount "
     "automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace "
     "securityContext:PodSecurityContext imagePullSecrets:LocalObjectReference hostname "
     "subdomain affinity:Affinity schedulerName tolerations:Toleration hostAliases:HostAlias "
     "priorityClassName priority dnsConfig:PodDNSConfig readinessGates:PodReadinessGate "
     "runtimeClassName enableServiceLinks preemptionPolicy overhead "
     "topologySpreadConstraints:TopologySpreadConstraint setHostnameAsFQDN os:PodOS hostUsers "
     "schedulingGates:PodSchedulingGate resourceClaims:PodResourceClaim "
     "resources:ResourceRequirements hostnameOverride workloadRef:WorkloadReference"},
    {"ObjectMeta",
     "name generateName namespace selfLink uid resourceVersion generation creationTimestamp "
     "deletionTimestamp deletionGracePeriodSeconds labels annotations "
     "ownerReferences:OwnerReference finalizers managedFields"},
    {"Volume",
     "name hostPath:HostPathVolumeSource emptyDir:EmptyDirVolumeSource "
     "gcePersistentDisk:GCEPersistentDiskVolumeSource "
     "awsElasticBlockStore:AWSElasticBlockStoreVolumeSource gitRepo:GitRepoVolumeSource "
     "secret:SecretVolumeSource nfs:NFSVolumeSource iscsi:ISCSIVolumeSource "
     "glusterfs:GlusterfsVolumeSource persistentVolumeClaim:PersistentVolumeClaimVolumeSource "
     "rbd:RBDVolumeSource flexVolume:FlexVolumeSource cinder:CinderVolumeSource "
     "cephfs:CephFSVolumeSource flocker:FlockerVolumeSource "
     "downwardAPI:DownwardAPIVolumeSource fc:FCVolumeSource azureFile:AzureFileVolumeSource "
     "configMap:ConfigMapVolumeSource vsphereVolume:VsphereVirtualDiskVolumeSource "
     "quobyte:QuobyteVolumeSource azureDisk:AzureDiskVolumeSource "
     "photonPersistentDisk:PhotonPersistentDiskVolumeSource projected:ProjectedVolumeSource "
     "portworxVolume:PortworxVolumeSource scaleIO:ScaleIOVolumeSource "
     "storageos:StorageOSVolumeSource csi:CSIVolumeSource ephemeral:EphemeralVolumeSource "
     "image:ImageVolumeSource"},
    {"Container",
     "name image command args workingDir ports:ContainerPort envFrom:EnvFromSource env:EnvVar "
     "resources:ResourceRequirements resizePolicy:ContainerResizePolicy restartPolicy "
     "restartPolicyRules:ContainerRestartRule volumeMounts:VolumeMount "
     "volumeDevices:VolumeDevice livenessProbe:Probe readinessProbe:Probe startupProbe:Probe "
     "lifecycle:Lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy "
     "securityContext:SecurityContext stdin stdinOnce tty"},
    {"EphemeralContainer",
     "name image command args workingDir ports:ContainerPort envFrom:EnvFromSource env:EnvVar "
     "resources:ResourceRequirements resizePolicy:ContainerResizePolicy restartPolicy "
     "restartPolicyRules:ContainerRestartRule volumeMounts:VolumeMount "
     "volumeDevices:VolumeDevice livenessProbe:Probe readinessProbe:Probe startupProbe:Probe "
     "lifecycle:Lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy "
     "securityContext:SecurityContext stdin stdinOnce tty targetContainerName"},
    {"PodSecurityContext",
     "seLinuxOptions:SELinuxOptions windowsOptions:WindowsSecurityContextOptions runAsUser "
     "runAsGroup runAsNonRoot supplementalGroups supplementalGroupsPolicy fsGroup "
     "sysctls:Sysctl fsGroupChangePolicy seccompProfile:SeccompProfile "
     "appArmorProfile:AppArmorProfile seLinuxChangePolicy"},
    {"LocalObjectReference", "name"},
    {"Affinity",
     "nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity"},
    {"Toleration", "key operator value effect tolerationSeconds"},
    {"HostAlias", "ip hostnames"},
    {"PodDNSConfig", "nameservers searches options:PodDNSConfigOption"},
    {"PodReadinessGate", "conditionType"},
    {"TopologySpreadConstraint",
     "maxSkew topologyKey whenUnsatisfiable labelSelector:LabelSelector minDomains "
     "nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys"},
    {"PodOS", "name"},
    {"PodSchedulingGate", "name"},
    {"PodResourceClaim", "name resourceClaimName resourceClaimTemplateName"},
    {"ResourceRequirements", "limits requests claims:ResourceClaim"},
    {"WorkloadReference", "name podGroup podGroupReplicaKey"},
    {"OwnerReference", "apiVersion kind name uid controller blockOwnerDeletion"},
    {"HostPathVolumeSource", "path type"},
    {"EmptyDirVolumeSource", "medium sizeLimit"},
    {"GCEPersistentDiskVolumeSource", "pdName fsType partition readOnly"},
    {"AWSElasticBlockStoreVolumeSource", "volumeID fsType partition readOnly"},
    {"GitRepoVolumeSource", "repository revision directory"},
    {"SecretVolumeSource", "secretName items:KeyToPath defaultMode optional"},
    {"NFSVolumeSource", "server path readOnly"},
    {"ISCSIVolumeSource",
     "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery "
     "chapAuthSession secretRef:LocalObjectReference initiatorName"},
    {"GlusterfsVolumeSource", "endpoints path readOnly"},
    {"PersistentVolumeClaimVolumeSource", "claimName readOnly"},
    {"RBDVolumeSource",
     "monitors image fsType pool user keyring secretRef:LocalObjectReference readOnly"},
    {"FlexVolumeSource", "driver fsType secretRef:LocalObjectReference readOnly options"},
    {"CinderVolumeSource", "volumeID fsType readOnly secretRef:LocalObjectReference"},
    {"CephFSVolumeSource", "monitors path user secretFile secretRef:LocalObjectReference readOnly"},
    {"FlockerVolumeSource", "datasetName datasetUUID"},
    {"DownwardAPIVolumeSource", "items:DownwardAPIVolumeFile defaultMode"},
    {"FCVolumeSource", "targetWWNs lun fsType readOnly wwids"},
    {"AzureFileVolumeSource", "secretName shareName readOnly"},
    {"ConfigMapVolumeSource", "name items:KeyToPath defaultMode optional"},
    {"VsphereVirtualDiskVolumeSource", "volumePath fsType storagePolicyName storagePolicyID"},
    {"QuobyteVolumeSource", "registry volume readOnly user group tenant"},
    {"AzureDiskVolumeSource", "diskName diskURI cachingMode fsType readOnly kind"},
    {"PhotonPersistentDiskVolumeSource", "pdID fsType"},
    {"ProjectedVolumeSource", "sources:VolumeProjection defaultMode"},
    {"PortworxVolumeSource", "volumeID fsType readOnly"},
    {"ScaleIOVolumeSource",
     "gateway system secretRef:LocalObjectReference sslEnabled protectionDomain storagePool "
     "storageMode volumeName fsType readOnly"},
    {"StorageOSVolumeSource",
     "volumeName volumeNamespace fsType readOnly secretRef:LocalObjectReference"},
    {"CSIVolumeSource",
     "driver readOnly fsType volumeAttributes nodePublishSecretRef:LocalObjectReference"},
    {"EphemeralVolumeSource", "volumeClaimTemplate:PersistentVolumeClaimTemplate"},
    {"ImageVolumeSource", "reference pullPolicy"},
    {"ContainerPort", "name hostPort containerPort protocol hostIP"},
    {"EnvFromSource", "prefix configMapRef:ConfigMapEnvSource secretRef:SecretEnvSource"},
    {"EnvVar", "name value valueFrom:EnvVarSource"},
    {"ContainerResizePolicy", "resourceName restartPolicy"},
    {"ContainerRestartRule", "action exitCodes:ContainerRestartRuleOnExitCodes"},
    {"VolumeMount",
     "name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr"},
    {"VolumeDevice", "name devicePath"},
    {"Probe",
     "exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction grpc:GRPCAction "
     "initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold "
     "terminationGracePeriodSeconds"},
    {"Lifecycle", "postStart:LifecycleHandler preStop:LifecycleHandler stopSignal"},
    {"SecurityContext",
     "capabilities:Capabilities privileged seLinuxOptions:SELinuxOptions "
     "windowsOptions:WindowsSecurityContextOptions runAsUser runAsGroup runAsNonRoot "
     "readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile:SeccompProfile "
     "appArmorProfile:AppArmorProfile"},
    {"SELinuxOptions", "user role type level"},
    {"WindowsSecurityContextOptions",
     "gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess"},
    {"Sysctl", "name value"},
    {"SeccompProfile", "type localhostProfile"},
    {"AppArmorProfile", "type localhostProfile"},
    {"NodeAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution:NodeSelector "
     "preferredDuringSchedulingIgnoredDuringExecution:PreferredSchedulingTerm"},
    {"PodAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm "
     "preferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm"},
    {"PodAntiAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm "
     "preferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm"},
    {"PodDNSConfigOption", "name value"},
    {"LabelSelector", "matchLabels matchExpressions:LabelSelectorRequirement"},
    {"ResourceClaim", "name request"},
    {"KeyToPath", "key path mode"},
    {"DownwardAPIVolumeFile",
     "path fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector mode"},
    {"VolumeProjection",
     "secret:SecretProjection downwardAPI:DownwardAPIProjection configMap:ConfigMapProjection "
     "serviceAccountToken:ServiceAccountTokenProjection "
     "clusterTrustBundle:ClusterTrustBundleProjection podCertificate:PodCertificateProjection"},
    {"PersistentVolumeClaimTemplate", "metadata:ObjectMeta spec:PersistentVolumeClaimSpec"},
    {"ConfigMapEnvSource", "name optional"},
    {"SecretEnvSource", "name optional"},
    {"EnvVarSource",
     "fieldRef:ObjectFieldSelector resourceFieldRef:ResourceFieldSelector "
     "configMapKeyRef:ConfigMapKeySelector secretKeyRef:SecretKeySelector "
     "fileKeyRef:FileKeySelector"},
    {"ContainerRestartRuleOnExitCodes", "operator values"},
    {"ExecAction", "command"},
    {"HTTPGetAction", "path port host scheme httpHeaders:HTTPHeader"},
    {"TCPSocketAction", "port host"},
    {"GRPCAction", "port service"},
    {"LifecycleHandler",
     "exec:ExecAction httpGet:HTTPGetAction tcpSocket:TCPSocketAction sleep:SleepAction"},
    {"Capabilities", "add drop"},
    {"NodeSelector", "nodeSelectorTerms:NodeSelectorTerm"},
    {"PreferredSchedulingTerm", "weight preference:NodeSelectorTerm"},
    {"PodAffinityTerm",
     "labelSelector:LabelSelector namespaces topologyKey namespaceSelector:LabelSelector "
     "matchLabelKeys mismatchLabelKeys"},
    {"WeightedPodAffinityTerm", "weight podAffinityTerm:PodAffinityTerm"},
    {"LabelSelectorRequirement", "key operator values"},
    {"ObjectFieldSelector", "apiVersion fieldPath"},
    {"ResourceFieldSelector", "containerName resource divisor"},
    {"SecretProjection", "name items:KeyToPath optional"},
    {"DownwardAPIProjection", "items:DownwardAPIVolumeFile"},
    {"ConfigMapProjection", "name items:KeyToPath optional"},
    {"ServiceAccountTokenProjection", "audience expirationSeconds path"},
    {"ClusterTrustBundleProjection", "name signerName labelSelector:LabelSelector optional path"},
    {"PodCertificateProjection",
     "signerName keyType maxExpirationSeconds credentialBundlePath keyPath "
     "certificateChainPath userAnnotations"},
    {"PersistentVolumeClaimSpec",
     "accessModes selector:LabelSelector resources:VolumeResourceRequirements volumeName "
     "storageClassName volumeMode dataSource:TypedLocalObjectReference "
     "dataSourceRef:TypedObjectReference volumeAttributesClassName"},
    {"ConfigMapKeySelector", "name key optional"},
    {"SecretKeySelector", "name key optional"},
    {"FileKeySelector", "volumeName path key optional"},
    {"HTTPHeader", "name value"},
    {"SleepAction", "seconds"},
    {"NodeSelectorTerm",
     "matchExpressions:NodeSelectorRequirement matchFields:NodeSelectorRequirement"},
    {"VolumeResourceRequirements", "limits requests"},
    {"TypedLocalObjectReference", "apiGroup kind name"},
    {"TypedObjectReference", "apiGroup kind name namespace"},
    {"NodeSelectorRequirement", "key operator values"},
};

struct Message;
using Fields = std::map<std::string, const Message*, std::less<>>;  // null: no message
struct Message {
  Fields fields;
};

const Message& MessageOf(const char* wanted) {
  static const auto& messages = *[] {
    auto* all = new std::map<std::string, Message, std::less<>>;
    for (const Row& row : kRows) (*all)[row.message];
    for (const Row& row : kRows) {
      for (const absl::string_view field : absl::StrSplit(row.fields, ' ')) {
        const std::vector<std::string> parts = absl::StrSplit(field, ':');
        (*all)[row.message].fields[parts[0]] = parts.size() == 1 ? nullptr : &all->at(parts[1]);
      }
    }
    return all;
  }();
  return messages.at(wanted);
}

std::string UnknownField(const Json& value, const Message& message, const std::string& path) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      std::string unknown = UnknownField(value[i], message, absl::StrCat(path, "[", i, "]"));
      if (!unknown.empty()) return unknown;
    }
  }
  if (!value.is_object()) return "";
  for (const auto& [name, below] : value.items()) {
    const std::string place = absl::StrCat(path, ".", name);
    const auto field = message.fields.find(name);
    if (field == message.fields.end()) return place;
    if (field->second == nullptr) continue;
    std::string unknown = UnknownField(below, *field->second, place);
    if (!unknown.empty()) return unknown;
  }
  return "";
}

}  // namespace

std::string UnknownPodField(const Json& pod) {
  constexpr std::pair<const char*, const char*> kParts[] = {{"metadata", "ObjectMeta"},
                                                            {"spec", "PodSpec"}};
  for (const auto& [part, message] : kParts) {
    const auto found = pod.find(part);
    if (found == pod.end()) continue;
    std::string unknown = UnknownField(*found, MessageOf(message), part);
    if (!unknown.empty()) return unknown;
  }
  for (const auto& [name, value] : pod.items()) {
    if (name != "apiVersion" && name != "kind" && name != "metadata" && name != "spec" &&
        name != "status") {
      return name;
    }
  }
  return "";
}

}  // namespace muster::kube
