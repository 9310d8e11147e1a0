#include "operator/nodes/node_tainter.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/nodes/node_wish.h"
#include "operator/nodes/unhealthy_taint.h"

namespace muster::control {
namespace {

bool IsTainted(const NodeRecord& node) {
  return std::any_of(node.taints.begin(), node.taints.end(),
                     [](const TaintView& taint) { return taint.key == kUnhealthyTaint; });
}

bool IsBroken(const NodeRecord& node) {
  return std::any_of(std::begin(kHealthConditions), std::end(kHealthConditions),
                     [&](const char* type) {
                       const ConditionView* health = FindCondition(node, type);
                       return health != nullptr && health->status == "False";
                     });
}

// Returns the status and the reason of the worst of the node's health conditions; empty if it has
// none. False is the worst, then everything else that is not True.
std::pair<std::string, std::string> HealthOfNode(const Json& node) {
  std::pair<std::string, std::string> worst;
  for (const char* type : kHealthConditions) {
    const Json* health = FindCondition(node, type);
    if (health == nullptr) continue;
    const std::string status = kube::StringAt(*health, {"status"});
    if (status == "False") return {status, kube::StringAt(*health, {"reason"})};
    if (worst.first.empty() || status != "True") {
      worst = {status, kube::StringAt(*health, {"reason"})};
    }
  }
  return worst;
}

// Returns the node's taints without ours, and whether ours was there.
std::pair<Json, bool> OtherTaints(const Json& node) {
  Json others = Json::array();
  bool ours = false;
  const Json* taints = kube::Find(node, {"spec", "taints"});
  if (taints == nullptr || !taints->is_array()) return {others, ours};
  for (const Json& taint : *taints) {
    if (kube::StringAt(taint, {"key"}) == kUnhealthyTaint) {
      ours = true;
    } else {
      others.push_back(taint);
    }
  }
  return {others, ours};
}

void SetTaint(bool tainted, const std::string& reason, Json others, Json& node) {
  if (tainted) {
    others.push_back({{"key", kUnhealthyTaint}, {"value", reason}, {"effect", "NoSchedule"}});
  }
  if (others.empty()) {
    node["spec"].erase("taints");
  } else {
    node["spec"]["taints"] = std::move(others);
  }
}

}  // namespace

absl::StatusOr<bool> NodeTainter::Write(const std::string& node) {
  MUSTER_ASSIGN_OR_RETURN(Json object, api_.Get(kube::kNodes, {"", node}));
  auto [others, tainted] = OtherTaints(object);
  const auto [status, reason] = HealthOfNode(object);
  const HealthPast past = ParseHealthPast(kube::AnnotationOf(object, kHealthAnnotation));
  const TaintChoice choice = ChooseTaint(status, tainted, past, clock_.Wall());
  if (choice == TaintChoice{tainted, past}) return false;
  if (choice.tainted != tainted) SetTaint(choice.tainted, reason, std::move(others), object);
  object["metadata"]["annotations"][kHealthAnnotation] = ToText(choice.past);
  MUSTER_RETURN_IF_ERROR(api_.Update(kube::kNodes, object).status());
  if (choice.tainted != tainted) {
    MUSTER_LOG(INFO, choice.tainted ? "node tainted" : "node's taint removed", {"node", node},
               {"why", reason}, {"faults", choice.past.faults});
  }
  return true;
}

int NodeTainter::RunOnce() {
  const absl::Time now = clock_.Monotonic();
  int writes = 0;
  int looked_at = 0;
  std::map<std::string, absl::Time> again;
  for (const NodeCache::Object& node : nodes_.List()) {
    const bool tainted = IsTainted(*node);
    if (!tainted && !IsBroken(*node)) continue;
    const auto known = again_.find(node->name);
    if (known != again_.end() && now < known->second) {
      again.insert(*known);
      continue;
    }
    if (looked_at == kNodesPerRun) continue;
    ++looked_at;
    const absl::StatusOr<bool> written = Write(node->name);
    writes += written.ok() && *written;
    const absl::Status& status = written.status();
    // If another writer of the node was faster, the next run reads what it wrote.
    again[node->name] = absl::IsAborted(status) ? now : now + kRetry;
    // Neither this nor a node that is gone is worth a word.
    if (status.ok() || absl::IsAborted(status) || absl::IsNotFound(status)) continue;
    MUSTER_LOG_LIMITED(WARN, node->name, "node not tainted", {"node", node->name},
                       {"error", status});
  }
  again_ = std::move(again);
  return writes;
}

}  // namespace muster::control
