#include "operator/local/node_object.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

Json Condition(const Json& stored, const char* type, bool status, const char* reason,
               const std::string& now) {
  Json condition = {{"type", type},
                    {"status", status ? "True" : "False"},
                    {"reason", reason},
                    {"lastHeartbeatTime", now},
                    {"lastTransitionTime", now}};
  const Json* before = kube::Find(stored, {"status", "conditions"});
  if (before == nullptr || !before->is_array()) return condition;
  for (const Json& old : *before) {
    if (kube::StringAt(old, {"type"}) != type) continue;
    if (kube::StringAt(old, {"status"}) != kube::StringAt(condition, {"status"})) continue;
    if (old.contains("lastTransitionTime")) {
      condition["lastTransitionTime"] = old["lastTransitionTime"];
    }
  }
  return condition;
}

Json Conditions(const Json& stored, absl::Time time) {
  const std::string now = kube::FormatTime(time);
  Json conditions =
      Json::array({Condition(stored, "Ready", true, "LocalNodeReady", now),
                   Condition(stored, "MemoryPressure", false, "LocalNodeHasSufficientMemory", now),
                   Condition(stored, "DiskPressure", false, "LocalNodeHasNoDiskPressure", now),
                   Condition(stored, "PIDPressure", false, "LocalNodeHasSufficientPID", now)});
  const size_t ours = conditions.size();
  const Json* before = kube::Find(stored, {"status", "conditions"});
  if (before == nullptr || !before->is_array()) return conditions;
  for (const Json& old : *before) {
    bool is_ours = false;
    for (size_t i = 0; i < ours; ++i) is_ours = is_ours || conditions[i]["type"] == old["type"];
    if (!is_ours) conditions.push_back(old);
  }
  return conditions;
}

// Removes the heartbeat times.
Json WithoutHeartbeats(Json status) {
  if (!status.is_object() || !status.contains("conditions")) return status;
  for (Json& condition : status["conditions"]) {
    if (condition.is_object()) condition.erase("lastHeartbeatTime");
  }
  return status;
}

}  // namespace

Json NewNode(const LocalNode& node) {
  Json object = kube::NewObject(kube::kNodes, {"", node.name});
  for (const auto& [key, value] : node.labels) kube::SetLabel(object, key, value);
  kube::SetLabel(object, "kubernetes.io/hostname", node.name);
  kube::SetLabel(object, "kubernetes.io/os", "linux");
  kube::SetLabel(object, "kubernetes.io/arch", "amd64");
  object["spec"] = Json::object();
  return object;
}

Json NodeStatusOf(const LocalNode& node, const Json& stored, absl::Time now) {
  Json resources = {{"cpu", absl::StrCat(node.cpus)},
                    {"memory", absl::StrCat(node.memory_bytes)},
                    {"pods", absl::StrCat(node.pods)}};
  if (node.gpus > 0) resources["nvidia.com/gpu"] = absl::StrCat(node.gpus);
  const Json* before = kube::Find(stored, {"status"});
  Json status = before != nullptr && before->is_object() ? *before : Json::object();
  status["capacity"] = resources;
  status["allocatable"] = std::move(resources);
  status["conditions"] = Conditions(stored, now);
  status["addresses"] = Json::array({{{"type", "InternalIP"}, {"address", "127.0.0.1"}},
                                     {{"type", "Hostname"}, {"address", node.name}}});
  if (!status.contains("nodeInfo")) status["nodeInfo"] = Json::object();
  status["nodeInfo"].update({{"operatingSystem", "linux"},
                             {"architecture", "amd64"},
                             {"kubeletVersion", "muster-local-nodes"},
                             {"containerRuntimeVersion", "process://"}});
  return status;
}

bool NodeStatusDiffers(const LocalNode& node, const Json& stored) {
  const Json* before = kube::Find(stored, {"status"});
  if (before == nullptr) return true;
  // Transition times follow the statuses, so any moment gives the same answer.
  Json wanted = NodeStatusOf(node, stored, absl::UnixEpoch());
  // The server may write an amount in another way (274877906944 as 256Gi).
  for (const char* map : {"capacity", "allocatable"}) {
    const Json* amount = kube::Find(*before, {map, "memory"});
    if (amount != nullptr) wanted[map]["memory"] = *amount;
  }
  return WithoutHeartbeats(std::move(wanted)) != WithoutHeartbeats(*before);
}

Json RenewedLease(const LocalNode& node, const std::string& node_uid, const Json& stored,
                  absl::Duration duration, absl::Time now) {
  Json lease = stored;
  if (!lease.is_object()) {
    lease = kube::NewObject(kube::kLeases, {kNodeLeaseNamespace, node.name});
  }
  kube::OwnerReference owner;
  owner.api_version = "v1";
  owner.kind = "Node";
  owner.name = node.name;
  owner.uid = node_uid;
  kube::SetOwners(lease, {owner});
  lease["spec"]["holderIdentity"] = node.name;
  lease["spec"]["leaseDurationSeconds"] = absl::ToInt64Seconds(duration);
  lease["spec"]["renewTime"] = kube::FormatMicroTime(now);
  return lease;
}

}  // namespace muster::control
