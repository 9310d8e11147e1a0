#include "operator/reconcile/pod/pod_devices.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "operator/placement/cluster/resource_amounts.h"
#include "operator/reconcile/pod/pod_json.h"

namespace muster::control {
namespace {

constexpr char kGpuResource[] = "nvidia.com/gpu";
constexpr char kLockMemory[] = "IPC_LOCK";

bool AsksForGpus(const Json& limits) {
  for (const auto& [resource, amount] : limits.items()) {
    if (IsGpuResource(resource)) return true;
  }
  return false;
}

}  // namespace

void AddGpus(Json& spec, Json& worker, int gpus) {
  Json& limits = ObjectIn(ObjectIn(worker, "resources"), "limits");
  if (!AsksForGpus(limits)) limits[kGpuResource] = absl::StrCat(gpus);
  // Nodes with GPUs are commonly tainted by the resource's name, against pods that need none.
  ListIn(spec, "tolerations").push_back({{"key", kGpuResource}, {"operator", "Exists"}});
}

void AddRdma(const v1alpha1::RdmaSpec& rdma, Json& worker) {
  for (const v1alpha1::RdmaResource& resource : rdma.resources()) {
    // The API server takes the request of an extended resource from its limit.
    Json& limits = ObjectIn(ObjectIn(worker, "resources"), "limits");
    SetIfAbsent(limits, resource.name().c_str(), absl::StrCat(std::max(resource.count(), 1)));
  }
  if (!rdma.ipc_lock()) return;
  Json& added = ListIn(ObjectIn(ObjectIn(worker, "securityContext"), "capabilities"), "add");
  if (std::find(added.begin(), added.end(), Json(kLockMemory)) == added.end()) {
    added.push_back(kLockMemory);
  }
}

}  // namespace muster::control
