#include "operator/kube/memory/object_rules.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/meta_rules.h"
#include "operator/kube/memory/pod_fields.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/queue_resources.h"
#include "operator/kube/storage_types.h"

namespace muster::kube {
namespace {

bool HasGeneration(const ResourceType& type) {
  return type == kTrainingJobs || type == kTrainingQueues || type == kPods;
}

absl::Status PodInvalid(const std::string& field, const std::string& why) {
  return ApiError(Reason::kInvalid, absl::StrCat("Pod: spec.", field, ": ", why));
}

absl::Status ValidateContainers(const Json& spec) {
  const Json* containers = Find(spec, {"containers"});
  if (containers == nullptr || !containers->is_array() || containers->empty()) {
    return PodInvalid("containers", "Required value");
  }
  for (const Json& container : *containers) {
    if (StringAt(container, {"name"}).empty()) {
      return PodInvalid("containers.name", "Required value");
    }
    if (StringAt(container, {"image"}).empty()) {
      return PodInvalid("containers.image", "Required value");
    }
  }
  return absl::OkStatus();
}

void Default(Json& object, const char* field, Json value) {
  if (!object.contains(field)) object[field] = std::move(value);
}

// Returns the immutable part of a pod's spec: everything except what Kubernetes lists as mutable.
Json ImmutablePodSpec(const Json& pod) {
  const Json* spec = Find(pod, {"spec"});
  if (spec == nullptr || !spec->is_object()) return nullptr;
  Json fixed = *spec;
  for (const char* field :
       {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"}) {
    fixed.erase(field);
  }
  for (const char* list : {"containers", "initContainers"}) {
    if (!fixed.contains(list) || !fixed[list].is_array()) continue;
    for (Json& container : fixed[list]) {
      if (container.is_object()) container.erase("image");
    }
  }
  return fixed;
}

absl::Status AdmitPod(Operation operation, Json& pod, const Json* old_pod) {
  if (operation == Operation::kUpdateStatus) return absl::OkStatus();
  if (operation == Operation::kUpdate) {
    if (ImmutablePodSpec(pod) == ImmutablePodSpec(*old_pod)) return absl::OkStatus();
    return PodInvalid("",
                      "Forbidden: pod updates may not change fields other than "
                      "containers[*].image, activeDeadlineSeconds, tolerations");
  }
  if (const std::string unknown = UnknownPodField(pod); !unknown.empty()) {
    return ApiError(Reason::kBadRequest,
                    absl::StrCat("Pod in version \"v1\" cannot be handled as a Pod: strict "
                                 "decoding error: unknown field \"",
                                 unknown, "\""));
  }
  const Json* spec = Find(pod, {"spec"});
  if (spec == nullptr || !spec->is_object()) return PodInvalid("containers", "Required value");
  MUSTER_RETURN_IF_ERROR(ValidateContainers(*spec));
  Default(pod["spec"], "restartPolicy", "Always");
  Default(pod["spec"], "schedulerName", "default-scheduler");
  Default(pod["spec"], "terminationGracePeriodSeconds", 30);
  pod["status"] = {{"phase", "Pending"}};
  return absl::OkStatus();
}

absl::Status AdmitLease(Operation, Json& lease, const Json*) {
  const Json* duration = Find(lease, {"spec", "leaseDurationSeconds"});
  if (duration != nullptr && (!duration->is_number_integer() || duration->get<int64_t>() <= 0)) {
    return ApiError(Reason::kInvalid, "Lease: spec.leaseDurationSeconds: must be greater than 0");
  }
  const Json* transitions = Find(lease, {"spec", "leaseTransitions"});
  if (transitions != nullptr &&
      (!transitions->is_number_integer() || transitions->get<int64_t>() < 0)) {
    return ApiError(Reason::kInvalid,
                    "Lease: spec.leaseTransitions: must be greater than or equal to 0");
  }
  return absl::OkStatus();
}

// Returns the part whose change raises the generation: everything except metadata and status.
bool DesiredStateDiffers(const Json& a, const Json& b) {
  const auto desired = [](Json object) {
    object.erase("metadata");
    object.erase("status");
    return object;
  };
  return desired(a) != desired(b);
}

absl::Status Admit(const Resource& resource, Operation operation, Json& object, const Json* old) {
  if (!resource.admission) return absl::OkStatus();
  return resource.admission(operation, object, old);
}

}  // namespace

std::vector<Resource> BuiltinResources() {
  return {{kPods, AdmitPod},
          {kNodes, nullptr},
          {kEvents, nullptr},
          {kSecrets, nullptr},
          {kConfigMaps, nullptr},
          {kLeases, AdmitLease},
          {kNetworkPolicies, nullptr},
          {kTrainingJobs, nullptr},
          {kTrainingQueues, nullptr},
          {kPriorityClasses, nullptr},
          // No controller here provisions or attaches volumes; these objects are stored as written.
          {kNamespaces, nullptr},
          {kVolumeClaims, nullptr},
          {kVolumes, nullptr},
          {kStorageClasses, nullptr},
          {kCsiNodes, nullptr},
          {kCsiDrivers, nullptr},
          {kStorageCapacities, nullptr},
          {kVolumeAttachments, nullptr}};
}

std::vector<Resource> ResourcesWith(const ResourceType& type, Admission admission) {
  std::vector<Resource> resources = BuiltinResources();
  for (Resource& resource : resources) {
    if (resource.type == type) resource.admission = admission;
  }
  return resources;
}

bool AllowsUnconditionalUpdate(const ResourceType& type) {
  return !(type == kTrainingJobs) && !(type == kLeases);
}

absl::StatusOr<Json> PrepareCreate(const Resource& resource, Json object, const std::string& uid,
                                   absl::Time now) {
  const ResourceType& type = resource.type;
  MUSTER_RETURN_IF_ERROR(ValidateMeta(type, object));
  Json& meta = object["metadata"];
  if (!ResourceVersionOf(object).empty()) {
    return ApiError(Reason::kBadRequest,
                    "resourceVersion should not be set on objects to be created");
  }
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
                            "managedFields", "generation", "resourceVersion"}) {
    meta.erase(field);
  }
  meta["uid"] = uid;
  meta["creationTimestamp"] = kube::FormatTime(now);
  if (HasGeneration(type)) meta["generation"] = 1;
  // "Nodes allow all fields, including status, to be set on create."
  if (type.status_subresource && !(type == kNodes)) object.erase("status");
  MUSTER_RETURN_IF_ERROR(Admit(resource, Operation::kCreate, object, nullptr));
  return object;
}

absl::StatusOr<Json> PrepareUpdate(const Resource& resource, const Json& old_object, Json object) {
  const ResourceType& type = resource.type;
  MUSTER_RETURN_IF_ERROR(ValidateMetaUpdate(old_object, object));
  MUSTER_RETURN_IF_ERROR(ValidateMeta(type, object));
  if (type.status_subresource) {
    object.erase("status");
    if (const Json* status = Find(old_object, {"status"})) object["status"] = *status;
  }
  MUSTER_RETURN_IF_ERROR(Admit(resource, Operation::kUpdate, object, &old_object));
  if (HasGeneration(type) && DesiredStateDiffers(old_object, object)) {
    object["metadata"]["generation"] = GenerationOf(old_object) + 1;
  }
  return object;
}

absl::StatusOr<Json> PrepareStatusUpdate(const Resource& resource, const Json& old_object,
                                         const Json& object) {
  const std::string uid = UidOf(object);
  if (!uid.empty() && uid != UidOf(old_object)) {
    return ApiError(Reason::kConflict,
                    absl::StrCat("Precondition failed: UID in precondition: ", uid,
                                 ", UID in object meta: ", UidOf(old_object)));
  }
  Json updated = Json::object();
  for (const auto& [field, value] : old_object.items()) {
    if (field != "status") updated[field] = value;
  }
  if (const Json* status = Find(object, {"status"})) updated["status"] = *status;
  SetResourceVersion(updated, ResourceVersionOf(object));
  MUSTER_RETURN_IF_ERROR(Admit(resource, Operation::kUpdateStatus, updated, &old_object));
  return updated;
}

}  // namespace muster::kube
