#include "operator/local/pod_admission.h"

#include "absl/strings/str_cat.h"
#include "operator/kube/object_meta.h"
#include "operator/objects/object_records.h"

namespace muster::control {
namespace {

std::optional<Refusal> Check(const char* resource, int64_t requested, int64_t used,
                             int64_t capacity) {
  if (requested <= 0 || requested + used <= capacity) return std::nullopt;
  return Refusal{
      absl::StrCat("OutOf", resource),
      absl::StrCat("Pod was rejected: Node didn't have enough resource: ", resource,
                   ", requested: ", requested, ", used: ", used, ", capacity: ", capacity)};
}

bool Selects(const Json& pod, const LocalNode& node) {
  const Json* selector = kube::Find(pod, {"spec", "nodeSelector"});
  if (selector == nullptr || !selector->is_object()) return true;
  const Json labels = NewNode(node)["metadata"]["labels"];
  for (const auto& [key, value] : selector->items()) {
    if (!labels.contains(key) || labels[key] != value) return false;
  }
  return true;
}

}  // namespace

Resources RequestsOf(const Json& pod) {
  const absl::StatusOr<PodRecord> record = ParsePodRecord(pod);
  return record.ok() ? record->requests : Resources{};
}

std::optional<Refusal> RefuseUnfit(const Json& pod, const LocalNode& node, const Resources& used) {
  const Resources wants = RequestsOf(pod);
  if (auto no = Check("pods", 1, used.slots, node.pods)) return no;
  if (auto no = Check("cpu", wants.cpu_millis, used.cpu_millis, int64_t{node.cpus} * 1000)) {
    return no;
  }
  if (auto no = Check("memory", wants.memory_bytes, used.memory_bytes, node.memory_bytes)) {
    return no;
  }
  if (auto no = Check("nvidia.com/gpu", wants.gpus, used.gpus, node.gpus)) return no;
  if (!Selects(pod, node)) {
    return Refusal{
        "NodeAffinity",
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
        "affinity/selector"};
  }
  return std::nullopt;
}

Json RefusedStatusOf(const Json& pod, const Refusal& refusal, absl::Time now) {
  const Json* before = kube::Find(pod, {"status"});
  Json status = before != nullptr && before->is_object() ? *before : Json::object();
  status["phase"] = "Failed";
  status["reason"] = refusal.reason;
  status["message"] = refusal.message;
  status["startTime"] = kube::FormatTime(now);
  return status;
}

}  // namespace muster::control
