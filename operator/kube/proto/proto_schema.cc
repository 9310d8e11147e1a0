#include "operator/kube/proto/proto_schema.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster::kube {
namespace {

using Kind = ProtoField::Kind;

template <size_t N>
constexpr ProtoMessage Whole(const ProtoField (&fields)[N]) {
  return {fields, N, /*complete=*/true};
}
template <size_t N>
constexpr ProtoMessage PartOf(const ProtoField (&fields)[N]) {
  return {fields, N, /*complete=*/false};
}
constexpr ProtoField Text(uint32_t number, std::string_view name) { return {number, name}; }
constexpr ProtoField Texts(uint32_t number, std::string_view name) {
  return {number, name, Kind::kString, /*repeated=*/true};
}
constexpr ProtoField Int(uint32_t number, std::string_view name, bool keeps_zero = false) {
  return {number, name, Kind::kInt, false, keeps_zero};
}
constexpr ProtoField Bool(uint32_t number, std::string_view name, bool keeps_zero = false) {
  return {number, name, Kind::kBool, false, keeps_zero};
}
constexpr ProtoField Time(uint32_t number, std::string_view name) {
  return {number, name, Kind::kTime};
}
constexpr ProtoField Map(uint32_t number, std::string_view name, Kind kind) {
  return {number, name, kind};
}
constexpr ProtoField One(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, Kind::kMessage, false, false, &message};
}
// Declares a message field for which an empty message differs from an absent one.
constexpr ProtoField Kept(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, Kind::kMessage, false, /*keeps_zero=*/true, &message};
}
constexpr ProtoField Inlined(uint32_t number, const ProtoMessage& message) {
  return One(number, "", message);
}
constexpr ProtoField Many(uint32_t number, std::string_view name, const ProtoMessage& message) {
  return {number, name, Kind::kMessage, true, false, &message};
}

constexpr ProtoField kOwnerFields[] = {Text(5, "apiVersion"),
                                       Text(1, "kind"),
                                       Text(3, "name"),
                                       Text(4, "uid"),
                                       Bool(6, "controller", true),
                                       Bool(7, "blockOwnerDeletion", true)};
constexpr ProtoMessage kOwner = Whole(kOwnerFields);

// The fields of ObjectMeta except managedFields.
constexpr ProtoField kObjectMetaFields[] = {Text(1, "name"),
                                            Text(2, "generateName"),
                                            Text(3, "namespace"),
                                            Text(4, "selfLink"),
                                            Text(5, "uid"),
                                            Text(6, "resourceVersion"),
                                            Int(7, "generation"),
                                            Time(8, "creationTimestamp"),
                                            Time(9, "deletionTimestamp"),
                                            Int(10, "deletionGracePeriodSeconds", true),
                                            Map(11, "labels", Kind::kStrings),
                                            Map(12, "annotations", Kind::kStrings),
                                            Many(13, "ownerReferences", kOwner),
                                            Texts(14, "finalizers")};
// Complete, since the objects of a kube::Api have no managedFields.
constexpr ProtoMessage kObjectMeta = Whole(kObjectMetaFields);

constexpr ProtoField kTaintFields[] = {Text(1, "key"), Text(2, "value"), Text(3, "effect"),
                                       Time(4, "timeAdded")};
constexpr ProtoMessage kTaint = Whole(kTaintFields);
constexpr ProtoField kNodeSpecFields[] = {Text(1, "podCIDR"), Texts(7, "podCIDRs"),
                                          Text(3, "providerID"), Bool(4, "unschedulable"),
                                          Many(5, "taints", kTaint)};
constexpr ProtoMessage kNodeSpec = PartOf(kNodeSpecFields);
constexpr ProtoField kNodeConditionFields[] = {Text(1, "type"),
                                               Text(2, "status"),
                                               Time(3, "lastHeartbeatTime"),
                                               Time(4, "lastTransitionTime"),
                                               Text(5, "reason"),
                                               Text(6, "message")};
constexpr ProtoMessage kNodeCondition = Whole(kNodeConditionFields);
constexpr ProtoField kAddressFields[] = {Text(1, "type"), Text(2, "address")};
constexpr ProtoMessage kAddress = Whole(kAddressFields);
constexpr ProtoField kNodeStatusFields[] = {
    Map(1, "capacity", Kind::kQuantities), Map(2, "allocatable", Kind::kQuantities),
    Text(3, "phase"), Many(4, "conditions", kNodeCondition), Many(5, "addresses", kAddress)};
constexpr ProtoMessage kNodeStatus = PartOf(kNodeStatusFields);
constexpr ProtoField kNodeFields[] = {One(1, "metadata", kObjectMeta), One(2, "spec", kNodeSpec),
                                      One(3, "status", kNodeStatus)};
constexpr ProtoMessage kNode = PartOf(kNodeFields);

constexpr ProtoField kClaimFields[] = {Text(1, "name"), Text(2, "request")};
constexpr ProtoMessage kClaim = Whole(kClaimFields);
constexpr ProtoField kResourceFields[] = {Map(1, "limits", Kind::kQuantities),
                                          Map(2, "requests", Kind::kQuantities),
                                          Many(3, "claims", kClaim)};
constexpr ProtoMessage kResources = Whole(kResourceFields);

// The fields of environment and mounts that templates commonly have. A pod with others is written
// as JSON.
constexpr ProtoField kLocalReferenceFields[] = {Text(1, "name")};
constexpr ProtoMessage kLocalReference = Whole(kLocalReferenceFields);
constexpr ProtoField kFieldRefFields[] = {Text(1, "apiVersion"), Text(2, "fieldPath")};
constexpr ProtoMessage kFieldRef = Whole(kFieldRefFields);
constexpr ProtoField kResourceRefFields[] = {
    Text(1, "containerName"), Text(2, "resource"), {3, "divisor", Kind::kQuantity}};
constexpr ProtoMessage kResourceRef = Whole(kResourceRefFields);
// A key of a ConfigMap or Secret.
constexpr ProtoField kKeyRefFields[] = {Inlined(1, kLocalReference), Text(2, "key"),
                                        Bool(3, "optional", true)};
constexpr ProtoMessage kKeyRef = Whole(kKeyRefFields);
constexpr ProtoField kEnvSourceFields[] = {
    One(1, "fieldRef", kFieldRef), One(2, "resourceFieldRef", kResourceRef),
    One(3, "configMapKeyRef", kKeyRef), One(4, "secretKeyRef", kKeyRef)};
constexpr ProtoMessage kEnvSource = PartOf(kEnvSourceFields);
constexpr ProtoField kEnvFields[] = {Text(1, "name"), Text(2, "value"),
                                     One(3, "valueFrom", kEnvSource)};
constexpr ProtoMessage kEnv = PartOf(kEnvFields);
constexpr ProtoField kAllKeysFields[] = {Inlined(1, kLocalReference), Bool(2, "optional", true)};
constexpr ProtoMessage kAllKeys = Whole(kAllKeysFields);
constexpr ProtoField kEnvFromFields[] = {Text(1, "prefix"), One(2, "configMapRef", kAllKeys),
                                         One(3, "secretRef", kAllKeys)};
constexpr ProtoMessage kEnvFrom = Whole(kEnvFromFields);
constexpr ProtoField kMountFields[] = {
    Text(1, "name"),       Bool(2, "readOnly"), Text(7, "recursiveReadOnly"),
    Text(3, "mountPath"),  Text(4, "subPath"),  Text(5, "mountPropagation"),
    Text(6, "subPathExpr")};
constexpr ProtoMessage kMount = Whole(kMountFields);

constexpr ProtoField kCapabilityFields[] = {Texts(1, "add"), Texts(2, "drop")};
constexpr ProtoMessage kCapabilities = Whole(kCapabilityFields);
constexpr ProtoField kProfileFields[] = {Text(1, "type"), Text(2, "localhostProfile")};
constexpr ProtoMessage kProfile = Whole(kProfileFields);
constexpr ProtoField kSecurityFields[] = {One(1, "capabilities", kCapabilities),
                                          Bool(2, "privileged", true),
                                          Int(4, "runAsUser", true),
                                          Int(8, "runAsGroup", true),
                                          Bool(5, "runAsNonRoot", true),
                                          Bool(6, "readOnlyRootFilesystem", true),
                                          Bool(7, "allowPrivilegeEscalation", true),
                                          Text(9, "procMount"),
                                          One(11, "seccompProfile", kProfile),
                                          One(12, "appArmorProfile", kProfile)};
constexpr ProtoMessage kSecurity = PartOf(kSecurityFields);
constexpr ProtoField kPodSecurityFields[] = {
    Int(2, "runAsUser", true),           Int(6, "runAsGroup", true),
    Bool(3, "runAsNonRoot", true),       Int(5, "fsGroup", true),
    Text(9, "fsGroupChangePolicy"),      One(10, "seccompProfile", kProfile),
    One(11, "appArmorProfile", kProfile)};
constexpr ProtoMessage kPodSecurity = PartOf(kPodSecurityFields);

constexpr ProtoField kPortFields[] = {Text(1, "name"), Int(2, "hostPort"), Int(3, "containerPort"),
                                      Text(4, "protocol"), Text(5, "hostIP")};
constexpr ProtoMessage kPort = Whole(kPortFields);
constexpr ProtoField kContainerFields[] = {Text(1, "name"),
                                           Text(2, "image"),
                                           Texts(3, "command"),
                                           Texts(4, "args"),
                                           Text(5, "workingDir"),
                                           Many(6, "ports", kPort),
                                           Many(19, "envFrom", kEnvFrom),
                                           Many(7, "env", kEnv),
                                           One(8, "resources", kResources),
                                           Text(24, "restartPolicy"),
                                           Many(9, "volumeMounts", kMount),
                                           Text(13, "terminationMessagePath"),
                                           Text(20, "terminationMessagePolicy"),
                                           Text(14, "imagePullPolicy"),
                                           One(15, "securityContext", kSecurity),
                                           Bool(16, "stdin"),
                                           Bool(17, "stdinOnce"),
                                           Bool(18, "tty")};
constexpr ProtoMessage kContainer = PartOf(kContainerFields);

constexpr ProtoField kTolerationFields[] = {Text(1, "key"), Text(2, "operator"), Text(3, "value"),
                                            Text(4, "effect"), Int(5, "tolerationSeconds", true)};
constexpr ProtoMessage kToleration = Whole(kTolerationFields);

constexpr ProtoField kGateFields[] = {Text(1, "name")};
constexpr ProtoMessage kGate = Whole(kGateFields);

constexpr ProtoField kLabelRequirementFields[] = {Text(1, "key"), Text(2, "operator"),
                                                  Texts(3, "values")};
constexpr ProtoMessage kLabelRequirement = Whole(kLabelRequirementFields);
constexpr ProtoField kLabelSelectorFields[] = {Map(1, "matchLabels", Kind::kStrings),
                                               Many(2, "matchExpressions", kLabelRequirement)};
constexpr ProtoMessage kLabelSelector = Whole(kLabelSelectorFields);

constexpr ProtoField kNodeTermFields[] = {Many(1, "matchExpressions", kLabelRequirement),
                                          Many(2, "matchFields", kLabelRequirement)};
constexpr ProtoMessage kNodeTerm = Whole(kNodeTermFields);
constexpr ProtoField kNodeSelectorFields[] = {Many(1, "nodeSelectorTerms", kNodeTerm)};
constexpr ProtoMessage kNodeSelector = Whole(kNodeSelectorFields);
constexpr ProtoField kPreferredNodeFields[] = {Int(1, "weight"), One(2, "preference", kNodeTerm)};
constexpr ProtoMessage kPreferredNode = Whole(kPreferredNodeFields);
constexpr ProtoField kNodeAffinityFields[] = {
    One(1, "requiredDuringSchedulingIgnoredDuringExecution", kNodeSelector),
    Many(2, "preferredDuringSchedulingIgnoredDuringExecution", kPreferredNode)};
constexpr ProtoMessage kNodeAffinity = Whole(kNodeAffinityFields);
constexpr ProtoField kPodTermFields[] = {Kept(1, "labelSelector", kLabelSelector),
                                         Texts(2, "namespaces"),
                                         Text(3, "topologyKey"),
                                         Kept(4, "namespaceSelector", kLabelSelector),
                                         Texts(5, "matchLabelKeys"),
                                         Texts(6, "mismatchLabelKeys")};
constexpr ProtoMessage kPodTerm = Whole(kPodTermFields);
constexpr ProtoField kPreferredPodFields[] = {Int(1, "weight"),
                                              One(2, "podAffinityTerm", kPodTerm)};
constexpr ProtoMessage kPreferredPod = Whole(kPreferredPodFields);
constexpr ProtoField kPodAffinityFields[] = {
    Many(1, "requiredDuringSchedulingIgnoredDuringExecution", kPodTerm),
    Many(2, "preferredDuringSchedulingIgnoredDuringExecution", kPreferredPod)};
constexpr ProtoMessage kPodAffinity = Whole(kPodAffinityFields);
constexpr ProtoField kAffinityFields[] = {One(1, "nodeAffinity", kNodeAffinity),
                                          One(2, "podAffinity", kPodAffinity),
                                          One(3, "podAntiAffinity", kPodAffinity)};
constexpr ProtoMessage kAffinity = Whole(kAffinityFields);
constexpr ProtoField kSpreadFields[] = {Int(1, "maxSkew"),
                                        Text(2, "topologyKey"),
                                        Text(3, "whenUnsatisfiable"),
                                        Kept(4, "labelSelector", kLabelSelector),
                                        Int(5, "minDomains", true),
                                        Text(6, "nodeAffinityPolicy"),
                                        Text(7, "nodeTaintsPolicy"),
                                        Texts(8, "matchLabelKeys")};
constexpr ProtoMessage kSpread = Whole(kSpreadFields);

// The kinds of volumes that can rule nodes out.
constexpr ProtoField kGceFields[] = {Text(1, "pdName"), Text(2, "fsType"), Int(3, "partition"),
                                     Bool(4, "readOnly")};
constexpr ProtoMessage kGce = Whole(kGceFields);
constexpr ProtoField kEbsFields[] = {Text(1, "volumeID"), Text(2, "fsType"), Int(3, "partition"),
                                     Bool(4, "readOnly")};
constexpr ProtoMessage kEbs = Whole(kEbsFields);
constexpr ProtoField kIscsiFields[] = {Text(1, "targetPortal"), Text(2, "iqn"), Int(3, "lun", true),
                                       Bool(6, "readOnly")};
constexpr ProtoMessage kIscsi = PartOf(kIscsiFields);
constexpr ProtoField kRbdFields[] = {Texts(1, "monitors"), Text(2, "image"), Text(4, "pool"),
                                     Bool(8, "readOnly")};
constexpr ProtoMessage kRbd = PartOf(kRbdFields);
constexpr ProtoField kClaimVolumeFields[] = {Text(1, "claimName"), Bool(2, "readOnly")};
constexpr ProtoMessage kClaimVolume = Whole(kClaimVolumeFields);
constexpr ProtoField kClaimResourceFields[] = {Map(1, "limits", Kind::kQuantities),
                                               Map(2, "requests", Kind::kQuantities)};
constexpr ProtoMessage kClaimResources = Whole(kClaimResourceFields);
constexpr ProtoField kClaimSpecFields[] = {
    Texts(1, "accessModes"), One(2, "resources", kClaimResources), Text(3, "volumeName"),
    Text(5, "storageClassName"), Text(6, "volumeMode")};
constexpr ProtoMessage kClaimSpec = PartOf(kClaimSpecFields);
constexpr ProtoField kClaimTemplateFields[] = {One(2, "spec", kClaimSpec)};
constexpr ProtoMessage kClaimTemplate = PartOf(kClaimTemplateFields);
constexpr ProtoField kEphemeralFields[] = {One(1, "volumeClaimTemplate", kClaimTemplate)};
constexpr ProtoMessage kEphemeral = PartOf(kEphemeralFields);
// Other common kinds of volumes.
constexpr ProtoField kHostPathFields[] = {Text(1, "path"), Text(2, "type")};
constexpr ProtoMessage kHostPath = Whole(kHostPathFields);
constexpr ProtoField kEmptyDirFields[] = {Text(1, "medium"), {2, "sizeLimit", Kind::kQuantity}};
constexpr ProtoMessage kEmptyDir = Whole(kEmptyDirFields);
constexpr ProtoField kKeyPathFields[] = {Text(1, "key"), Text(2, "path"), Int(3, "mode", true)};
constexpr ProtoMessage kKeyPath = Whole(kKeyPathFields);
constexpr ProtoField kSecretVolumeFields[] = {Text(1, "secretName"), Many(2, "items", kKeyPath),
                                              Int(3, "defaultMode", true),
                                              Bool(4, "optional", true)};
constexpr ProtoMessage kSecretVolume = Whole(kSecretVolumeFields);
constexpr ProtoField kNfsFields[] = {Text(1, "server"), Text(2, "path"), Bool(3, "readOnly")};
constexpr ProtoMessage kNfs = Whole(kNfsFields);
constexpr ProtoField kConfigMapVolumeFields[] = {
    Inlined(1, kLocalReference), Many(2, "items", kKeyPath), Int(3, "defaultMode", true),
    Bool(4, "optional", true)};
constexpr ProtoMessage kConfigMapVolume = Whole(kConfigMapVolumeFields);
constexpr ProtoField kProjectedKeysFields[] = {
    Inlined(1, kLocalReference), Many(2, "items", kKeyPath), Bool(4, "optional", true)};
constexpr ProtoMessage kProjectedKeys = Whole(kProjectedKeysFields);
constexpr ProtoField kDownwardFileFields[] = {Text(1, "path"), One(2, "fieldRef", kFieldRef),
                                              One(3, "resourceFieldRef", kResourceRef),
                                              Int(4, "mode", true)};
constexpr ProtoMessage kDownwardFile = Whole(kDownwardFileFields);
constexpr ProtoField kProjectedDownwardFields[] = {Many(1, "items", kDownwardFile)};
constexpr ProtoMessage kProjectedDownward = Whole(kProjectedDownwardFields);
constexpr ProtoField kProjectedTokenFields[] = {Text(1, "audience"),
                                                Int(2, "expirationSeconds", true), Text(3, "path")};
constexpr ProtoMessage kProjectedToken = Whole(kProjectedTokenFields);
constexpr ProtoField kProjectionFields[] = {
    One(1, "secret", kProjectedKeys), One(2, "downwardAPI", kProjectedDownward),
    One(3, "configMap", kProjectedKeys), One(4, "serviceAccountToken", kProjectedToken)};
constexpr ProtoMessage kProjection = PartOf(kProjectionFields);
constexpr ProtoField kProjectedFields[] = {Many(1, "sources", kProjection),
                                           Int(2, "defaultMode", true)};
constexpr ProtoMessage kProjected = PartOf(kProjectedFields);
constexpr ProtoField kVolumeSourceFields[] = {One(1, "hostPath", kHostPath),
                                              Kept(2, "emptyDir", kEmptyDir),
                                              One(3, "gcePersistentDisk", kGce),
                                              One(4, "awsElasticBlockStore", kEbs),
                                              One(6, "secret", kSecretVolume),
                                              One(7, "nfs", kNfs),
                                              One(8, "iscsi", kIscsi),
                                              One(10, "persistentVolumeClaim", kClaimVolume),
                                              One(11, "rbd", kRbd),
                                              One(19, "configMap", kConfigMapVolume),
                                              One(26, "projected", kProjected),
                                              One(29, "ephemeral", kEphemeral)};
constexpr ProtoMessage kVolumeSource = PartOf(kVolumeSourceFields);
constexpr ProtoField kVolumeFields[] = {Text(1, "name"), Inlined(2, kVolumeSource)};
constexpr ProtoMessage kVolume = PartOf(kVolumeFields);

constexpr ProtoField kResourceClaimFields[] = {Text(1, "name"), Text(3, "resourceClaimName"),
                                               Text(4, "resourceClaimTemplateName")};
constexpr ProtoMessage kResourceClaim = Whole(kResourceClaimFields);

constexpr ProtoField kPodSpecFields[] = {Many(1, "volumes", kVolume),
                                         Many(20, "initContainers", kContainer),
                                         Many(2, "containers", kContainer),
                                         Text(3, "restartPolicy"),
                                         Int(4, "terminationGracePeriodSeconds", true),
                                         Int(5, "activeDeadlineSeconds", true),
                                         Text(6, "dnsPolicy"),
                                         Map(7, "nodeSelector", Kind::kStrings),
                                         Text(8, "serviceAccountName"),
                                         Text(9, "serviceAccount"),
                                         Bool(21, "automountServiceAccountToken", true),
                                         Text(10, "nodeName"),
                                         Bool(11, "hostNetwork"),
                                         Bool(12, "hostPID"),
                                         Bool(13, "hostIPC"),
                                         Bool(27, "shareProcessNamespace", true),
                                         One(14, "securityContext", kPodSecurity),
                                         Many(15, "imagePullSecrets", kLocalReference),
                                         Text(16, "hostname"),
                                         Text(17, "subdomain"),
                                         One(18, "affinity", kAffinity),
                                         Text(19, "schedulerName"),
                                         Many(22, "tolerations", kToleration),
                                         Text(24, "priorityClassName"),
                                         Int(25, "priority", true),
                                         Text(29, "runtimeClassName"),
                                         Bool(30, "enableServiceLinks", true),
                                         Text(31, "preemptionPolicy"),
                                         Map(32, "overhead", Kind::kQuantities),
                                         Many(33, "topologySpreadConstraints", kSpread),
                                         Many(38, "schedulingGates", kGate),
                                         Many(39, "resourceClaims", kResourceClaim),
                                         One(40, "resources", kResources)};
constexpr ProtoMessage kPodSpec = PartOf(kPodSpecFields);

constexpr ProtoField kPodConditionFields[] = {
    Text(1, "type"),          Int(7, "observedGeneration"),  Text(2, "status"),
    Time(3, "lastProbeTime"), Time(4, "lastTransitionTime"), Text(5, "reason"),
    Text(6, "message")};
constexpr ProtoMessage kPodCondition = Whole(kPodConditionFields);

constexpr ProtoField kWaitingFields[] = {Text(1, "reason"), Text(2, "message")};
constexpr ProtoMessage kWaiting = Whole(kWaitingFields);
constexpr ProtoField kRunningFields[] = {Time(1, "startedAt")};
constexpr ProtoMessage kRunning = Whole(kRunningFields);
constexpr ProtoField kTerminatedFields[] = {
    Int(1, "exitCode", true), Int(2, "signal"),      Text(3, "reason"),     Text(4, "message"),
    Time(5, "startedAt"),     Time(6, "finishedAt"), Text(7, "containerID")};
constexpr ProtoMessage kTerminated = Whole(kTerminatedFields);
constexpr ProtoField kStateFields[] = {One(1, "waiting", kWaiting), One(2, "running", kRunning),
                                       One(3, "terminated", kTerminated)};
constexpr ProtoMessage kState = Whole(kStateFields);
constexpr ProtoField kContainerStatusFields[] = {Text(1, "name"),
                                                 One(2, "state", kState),
                                                 One(3, "lastState", kState),
                                                 Bool(4, "ready", true),
                                                 Int(5, "restartCount", true),
                                                 Text(6, "image"),
                                                 Text(7, "imageID"),
                                                 Text(8, "containerID"),
                                                 Bool(9, "started", true),
                                                 Map(10, "allocatedResources", Kind::kQuantities),
                                                 One(11, "resources", kResources),
                                                 Text(15, "stopSignal")};
constexpr ProtoMessage kContainerStatus = PartOf(kContainerStatusFields);

constexpr ProtoField kPodStatusFields[] = {Int(17, "observedGeneration"),
                                           Text(1, "phase"),
                                           Many(2, "conditions", kPodCondition),
                                           Text(3, "message"),
                                           Text(4, "reason"),
                                           Text(11, "nominatedNodeName"),
                                           Text(5, "hostIP"),
                                           Text(6, "podIP"),
                                           Time(7, "startTime"),
                                           Many(10, "initContainerStatuses", kContainerStatus),
                                           Many(8, "containerStatuses", kContainerStatus),
                                           Text(9, "qosClass")};
constexpr ProtoMessage kPodStatus = PartOf(kPodStatusFields);
constexpr ProtoField kPodFields[] = {One(1, "metadata", kObjectMeta), One(2, "spec", kPodSpec),
                                     One(3, "status", kPodStatus)};
constexpr ProtoMessage kPod = PartOf(kPodFields);

constexpr ProtoField kReferenceFields[] = {
    Text(1, "kind"),       Text(2, "namespace"),       Text(3, "name"),     Text(4, "uid"),
    Text(5, "apiVersion"), Text(6, "resourceVersion"), Text(7, "fieldPath")};
constexpr ProtoMessage kReference = Whole(kReferenceFields);
constexpr ProtoField kBindingFields[] = {One(1, "metadata", kObjectMeta),
                                         One(2, "target", kReference)};
constexpr ProtoMessage kBinding = Whole(kBindingFields);

constexpr ProtoField kListMetaFields[] = {Text(1, "selfLink"), Text(2, "resourceVersion"),
                                          Text(3, "continue"), Int(4, "remainingItemCount", true)};
constexpr ProtoMessage kListMeta = Whole(kListMetaFields);

constexpr ProtoField kCauseFields[] = {Text(1, "reason"), Text(2, "message"), Text(3, "field")};
constexpr ProtoMessage kCause = Whole(kCauseFields);
constexpr ProtoField kDetailsFields[] = {Text(1, "name"),           Text(2, "group"),
                                         Text(3, "kind"),           Text(6, "uid"),
                                         Many(4, "causes", kCause), Int(5, "retryAfterSeconds")};
constexpr ProtoMessage kDetails = Whole(kDetailsFields);
constexpr ProtoField kStatusFields[] = {
    One(1, "metadata", kListMeta), Text(2, "status"), Text(3, "message"), Text(4, "reason"),
    One(5, "details", kDetails),   Int(6, "code")};
constexpr ProtoMessage kStatus = Whole(kStatusFields);

}  // namespace

const ProtoMessage* ProtoMessageOf(const ResourceType& type) {
  if (type == kPods) return &ProtoPod();
  if (type == kNodes) return &kNode;
  return nullptr;
}

const ProtoMessage& ProtoPod() { return kPod; }
const ProtoMessage& ProtoBinding() { return kBinding; }
const ProtoMessage& ProtoListMeta() { return kListMeta; }
const ProtoMessage& ProtoStatus() { return kStatus; }

}  // namespace muster::kube
