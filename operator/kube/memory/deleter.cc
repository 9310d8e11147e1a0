#include "operator/kube/memory/deleter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/kube/api_error.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {
namespace {

absl::Status Mismatch(const ResourceType& type, const Json& object, const char* what,
                      const std::string& wanted, const std::string& found) {
  return ApiError(Reason::kConflict,
                  absl::StrCat("Operation cannot be fulfilled on ", std::string(type.plural), " \"",
                               NameOf(object), "\": the ", what, " in the precondition (", wanted,
                               ") does not match the ", what, " in record (", found, ")"));
}

void ApplyPropagation(Json& object, Propagation propagation) {
  if (propagation == Propagation::kDefault) return;
  std::vector<std::string> finalizers = FinalizersOf(object);
  finalizers.erase(std::remove_if(finalizers.begin(), finalizers.end(),
                                  [](const std::string& finalizer) {
                                    return finalizer == kOrphanFinalizer ||
                                           finalizer == kForegroundFinalizer;
                                  }),
                   finalizers.end());
  if (propagation == Propagation::kOrphan) finalizers.push_back(kOrphanFinalizer);
  if (propagation == Propagation::kForeground) finalizers.push_back(kForegroundFinalizer);
  SetFinalizers(object, finalizers);
}

void MarkDeleted(Json& object, absl::Time at, int64_t grace) {
  if (!IsTerminating(object) && GenerationOf(object) > 0) {
    object["metadata"]["generation"] = GenerationOf(object) + 1;
  }
  object["metadata"]["deletionTimestamp"] = kube::FormatTime(at);
  object["metadata"]["deletionGracePeriodSeconds"] = grace;
}

int64_t GraceOfPod(const Json& pod, const DeleteOptions& options) {
  const std::string phase = StringAt(pod, {"status", "phase"});
  if (StringAt(pod, {"spec", "nodeName"}).empty() || phase == "Failed" || phase == "Succeeded") {
    return 0;
  }
  int64_t grace = 0;
  const Json* spec = Find(pod, {"spec", "terminationGracePeriodSeconds"});
  if (spec != nullptr && spec->is_number_integer()) grace = spec->get<int64_t>();
  if (options.grace_period_seconds.has_value()) grace = *options.grace_period_seconds;
  return grace < 0 ? 1 : grace;
}

}  // namespace

bool HasFinalizer(const Json& object, const char* finalizer) {
  const std::vector<std::string> all = FinalizersOf(object);
  return std::find(all.begin(), all.end(), finalizer) != all.end();
}

absl::Status CheckPreconditions(const ResourceType& type, const Json& object,
                                const Preconditions& preconditions) {
  if (!preconditions.uid.empty() && preconditions.uid != UidOf(object)) {
    return Mismatch(type, object, "UID", preconditions.uid, UidOf(object));
  }
  if (!preconditions.resource_version.empty() &&
      preconditions.resource_version != ResourceVersionOf(object)) {
    return Mismatch(type, object, "ResourceVersion", preconditions.resource_version,
                    ResourceVersionOf(object));
  }
  return absl::OkStatus();
}

absl::Status Deleter::Delete(StoreTable& table, const ObjectKey& key,
                             const DeleteOptions& options) {
  const SharedJson stored = store_.Get(table, key);
  const ResourceType& type = table.resource.type;
  if (stored == nullptr) {
    return ApiError(Reason::kNotFound,
                    absl::StrCat(std::string(type.plural), " \"", key.name, "\" not found"));
  }
  if (absl::Status ok = CheckPreconditions(type, *stored, options.preconditions); !ok.ok()) {
    return ok;
  }
  Json object = *stored;
  if (type == kPods) return DeletePod(table, std::move(object), options);
  ApplyPropagation(object, options.propagation);
  if (!IsTerminating(object)) MarkDeleted(object, clock_.Wall(), 0);
  return KeepOrErase(table, std::move(object), 0);
}

absl::Status Deleter::DeletePod(StoreTable& table, Json pod, const DeleteOptions& options) {
  const std::optional<absl::Time> deleted_at = DeletionTimeOf(pod);
  if (!deleted_at.has_value()) {
    const int64_t grace = GraceOfPod(pod, options);
    ApplyPropagation(pod, options.propagation);
    MarkDeleted(pod, clock_.Wall() + absl::Seconds(grace), grace);
    return KeepOrErase(table, std::move(pod), grace);
  }
  const int64_t before = DeletionGraceOf(pod).value_or(0);
  const int64_t wanted = std::max<int64_t>(options.grace_period_seconds.value_or(before), 0);
  if (wanted >= before) return absl::OkStatus();  // a pending deletion is only ever made shorter
  MarkDeleted(pod, *deleted_at - absl::Seconds(before - wanted), wanted);
  return KeepOrErase(table, std::move(pod), wanted);
}

absl::Status Deleter::KeepOrErase(StoreTable& table, Json object, int64_t grace) {
  if (FinalizersOf(object).empty() && grace == 0) return writer_.Erase(table, std::move(object));
  const SharedJson stored = store_.Get(table, KeyOf(object));
  if (stored != nullptr && *stored == object) return absl::OkStatus();
  return writer_.Put(table, std::move(object)).status();
}

absl::StatusOr<SharedJson> Deleter::StoreUpdate(StoreTable& table, Json updated) {
  const SharedJson stored = store_.Get(table, KeyOf(updated));
  SetResourceVersion(updated, ResourceVersionOf(*stored));
  if (*stored == updated) return stored;
  if (IsTerminating(updated) && FinalizersOf(updated).empty() &&
      DeletionGraceOf(updated).value_or(0) == 0) {
    absl::Status erased = writer_.Erase(table, updated);
    if (!erased.ok()) return erased;
    return std::make_shared<const Json>(std::move(updated));
  }
  return writer_.Put(table, std::move(updated));
}

}  // namespace muster::kube
