#include "operator/scheduler/cluster/kueue_topology.h"

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

constexpr char kHostname[] = "kubernetes.io/hostname";

absl::StatusOr<std::vector<std::string>> LevelsOf(const Json& topology) {
  std::vector<std::string> keys;
  const Json* levels = kube::Find(topology, {"spec", "levels"});
  if (levels != nullptr && levels->is_array()) {
    for (const Json& level : *levels) keys.push_back(kube::StringAt(level, {"nodeLabel"}));
  }
  if (!keys.empty() && keys.back() == kHostname) keys.pop_back();
  for (const std::string& key : keys) {
    if (!key.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Topology ", kube::NameOf(topology), " has a level without a nodeLabel"));
  }
  return keys;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadKueueLevels(kube::Api& api, const std::string& name) {
  for (const kube::ResourceType& type : kKueueTopologies) {
    const absl::StatusOr<Json> topology = api.Get(type, {"", name});
    if (topology.ok()) return LevelsOf(*topology);
    if (!absl::IsNotFound(topology.status())) return topology.status();
  }
  return absl::NotFoundError(absl::StrCat("no Topology ", name, " of kueue.x-k8s.io"));
}

}  // namespace muster::control
