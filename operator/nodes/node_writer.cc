#include "operator/nodes/node_writer.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

// Returns true if the cached node shows the wish, as far as the cache knows nodes.
bool Shows(const NodeRecord& node, const NodeWish& wish) {
  for (const auto& [key, value] : wish.labels) {
    if (node.scheduling->labels.Value(key) != value.value_or("")) return false;
  }
  return std::all_of(wish.health.begin(), wish.health.end(), [&](const auto& entry) {
    const ConditionView* present = FindCondition(node, entry.first);
    const std::optional<ConditionWish> health = HealthOf(entry.second, present != nullptr);
    if (!health.has_value()) return true;
    return present != nullptr && present->status == health->status &&
           present->reason == health->reason;
  });
}

// Logs the conditions that differ between two states of a node.
void LogHealth(const std::string& name, const Json& before, const Json& after) {
  for (const char* type : kHealthConditions) {
    const Json* now = FindCondition(after, type);
    const Json* then = FindCondition(before, type);
    if (now == nullptr || (then != nullptr && *then == *now)) continue;
    MUSTER_LOG(INFO, "node's health", {"node", name}, {"condition", type},
               {"status", kube::StringAt(*now, {"status"})},
               {"why", kube::StringAt(*now, {"message"})});
  }
}

bool IsClosedForPorts(const NodeRecord& node) {
  const ConditionView* health = FindCondition(node, kInfinibandHealthyCondition);
  return health != nullptr && health->status == "False";
}

bool HasHealth(const NodeRecord& node) {
  return std::any_of(std::begin(kHealthConditions), std::end(kHealthConditions),
                     [&](const char* type) { return FindCondition(node, type) != nullptr; });
}

}  // namespace

void NodeWriter::Lead() {
  leading_since_ = clock_.Monotonic();
  visits_.clear();
}

absl::Status NodeWriter::Write(const std::string& node, const NodeWish& wish, int& writes) {
  const kube::ObjectKey key{"", node};
  MUSTER_ASSIGN_OR_RETURN(Json object, api_.Get(kube::kNodes, key));
  if (const Json patch = MetadataPatch(wish, object); !patch.empty()) {
    MUSTER_ASSIGN_OR_RETURN(
        object, api_.PatchMetadata(kube::kNodes, key, patch, {kube::UidOf(object), ""}));
    ++writes;
  }
  const std::optional<Json> changed = WithHealth(wish, object, clock_.Wall());
  if (!changed.has_value()) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(api_.UpdateStatus(kube::kNodes, *changed).status());
  ++writes;
  LogHealth(node, object, *changed);
  return absl::OkStatus();
}

void NodeWriter::KeepOpen(const NodeRecord& node, NodeWish& wish) {
  std::optional<ConditionWish>& health = wish.health[kInfinibandHealthyCondition].known;
  if (!health || health->status != "False" || IsClosedForPorts(node)) return;
  const int most = std::max(1, static_cast<int>(kMostClosed * with_ports_));
  if (closed_ < most) {
    ++closed_;
    return;
  }
  health = {"Unknown", "TooManyAtOnce",
            absl::StrCat(closed_, " of ", with_ports_,
                         " nodes are closed for their ports already, which is the most: look at "
                         "what they share; here ",
                         health->message)};
}

bool NodeWriter::Look(const NodeCache::Object& node, const NodeNews* told, absl::Time now,
                      int& writes) {
  const bool reported = told != nullptr && told->report != nullptr;
  if (!reported && !HasHealth(*node) && !node->notice) return false;
  const absl::Time heard = reported ? told->last_heard : leading_since_;
  const bool silent = now - heard >= kSilence;
  if (!reported && !silent) return false;
  const int64_t version = reported ? told->version : 0;
  Visit& visit = visits_[node->name];
  visit.run = run_;
  const bool same = visit.version == version && visit.silent == silent;
  if (same && (now < visit.again || visit.seen == node)) return false;
  NodeWish wish = silent ? WishOfSilence(kSilence) : WishOf(*told->report);
  KeepOpen(*node, wish);
  if (same && !visit.failed && Shows(*node, wish)) {
    visit.seen = node;
    return false;
  }
  const absl::Status status = Write(node->name, wish, writes);
  // If another writer of the node was faster, the next run reads what it wrote.
  const absl::Time again = absl::IsAborted(status) ? now : now + kRetry;
  visit = {version, silent, !status.ok(), nullptr, run_, again};
  // Neither this nor a node that is gone is worth a word.
  if (status.ok() || absl::IsAborted(status) || absl::IsNotFound(status)) return true;
  MUSTER_LOG_LIMITED(WARN, node->name, "node not labelled", {"node", node->name},
                     {"error", status});
  return true;
}

int NodeWriter::RunOnce() {
  const absl::Time now = clock_.Monotonic();
  const std::map<std::string, NodeNews> news = board_.Nodes();
  int writes = 0;
  ++run_;
  std::vector<std::pair<NodeCache::Object, const NodeNews*>> others;
  const std::vector<NodeCache::Object> nodes = nodes_.List();
  with_ports_ = closed_ = 0;
  for (const NodeCache::Object& node : nodes) {
    const auto told = news.find(node->name);
    const bool has_ports = told != news.end() && told->second.report != nullptr &&
                           !told->second.report->infiniband_ports().empty();
    with_ports_ += has_ports || IsClosedForPorts(*node);
    closed_ += IsClosedForPorts(*node);
  }
  for (const NodeCache::Object& node : nodes) {
    const auto found = news.find(node->name);
    const NodeNews* told = found == news.end() ? nullptr : &found->second;
    if (told != nullptr && told->report != nullptr && told->report->has_notice()) {
      Look(node, told, now, writes);
    } else {
      others.emplace_back(node, told);
    }
  }
  int looked_at = 0;
  for (const auto& [node, told] : others) {
    if (looked_at == kNodesPerRun) return writes;
    looked_at += Look(node, told, now, writes);
  }
  std::erase_if(visits_, [&](const auto& visit) { return visit.second.run != run_; });
  return writes;
}

}  // namespace muster::control
