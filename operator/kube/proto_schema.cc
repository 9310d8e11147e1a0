#include "operator/kube/proto_schema.h"

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
// An empty one is not the same as none.
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

// Without managedFields.
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
// As this seam's objects have it.
constexpr ProtoMessage kObjectMeta = Whole(kObjectMetaFields);

constexpr ProtoField kClaimFields[] = {Text(1, "name"), Text(2, "request")};
constexpr ProtoMessage kClaim = Whole(kClaimFields);
constexpr ProtoField kResourceFields[] = {Map(1, "limits", Kind::kQuantities),
                                          Map(2, "requests", Kind::kQuantities),
                                          Many(3, "claims", kClaim)};
constexpr ProtoMessage kResources = Whole(kResourceFields);

constexpr ProtoField kPortFields[] = {Text(1, "name"), Int(2, "hostPort"), Int(3, "containerPort"),
                                      Text(4, "protocol"), Text(5, "hostIP")};
constexpr ProtoMessage kPort = Whole(kPortFields);
constexpr ProtoField kContainerFields[] = {Text(1, "name"),
                                           Text(2, "image"),
                                           Texts(3, "command"),
                                           Texts(4, "args"),
                                           Text(5, "workingDir"),
                                           Many(6, "ports", kPort),
                                           One(8, "resources", kResources),
                                           Text(24, "restartPolicy")};
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

// Of volumes, what rules nodes out.
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
constexpr ProtoField kClaimSpecFields[] = {Texts(1, "accessModes"), Text(3, "volumeName"),
                                           Text(5, "storageClassName"), Text(6, "volumeMode")};
constexpr ProtoMessage kClaimSpec = PartOf(kClaimSpecFields);
constexpr ProtoField kClaimTemplateFields[] = {One(2, "spec", kClaimSpec)};
constexpr ProtoMessage kClaimTemplate = PartOf(kClaimTemplateFields);
constexpr ProtoField kEphemeralFields[] = {One(1, "volumeClaimTemplate", kClaimTemplate)};
constexpr ProtoMessage kEphemeral = PartOf(kEphemeralFields);
constexpr ProtoField kVolumeSourceFields[] = {One(3, "gcePersistentDisk", kGce),
                                              One(4, "awsElasticBlockStore", kEbs),
                                              One(8, "iscsi", kIscsi),
                                              One(10, "persistentVolumeClaim", kClaimVolume),
                                              One(11, "rbd", kRbd),
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
                                         Map(7, "nodeSelector", Kind::kStrings),
                                         Text(8, "serviceAccountName"),
                                         Text(10, "nodeName"),
                                         Bool(11, "hostNetwork"),
                                         Text(16, "hostname"),
                                         Text(17, "subdomain"),
                                         One(18, "affinity", kAffinity),
                                         Text(19, "schedulerName"),
                                         Many(22, "tolerations", kToleration),
                                         Text(24, "priorityClassName"),
                                         Int(25, "priority", true),
                                         Text(29, "runtimeClassName"),
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
  if (type == kPods) return &kPod;
  if (type == kNodes) return &kNode;
  return nullptr;
}

const ProtoMessage& ProtoListMeta() { return kListMeta; }
const ProtoMessage& ProtoStatus() { return kStatus; }

}  // namespace muster::kube
