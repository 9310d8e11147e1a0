#include "operator/queue/decision_input.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "operator/placement/inventory.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queued_job.h"

namespace muster::control {
namespace {

Inventory InventoryOf(const TopologyTree& tree) {
  Inventory inventory;
  for (int level = 1; level < tree.node_level(); ++level) {
    inventory.levels.push_back(tree.level_name(level));
  }
  const std::vector<TopologyTree::Domain>& hosts = tree.level(tree.node_level());
  inventory.nodes.reserve(hosts.size());
  for (int i = 0; i < static_cast<int>(hosts.size()); ++i) {
    const TopologyTree::Node& of = tree.node(i);
    NodeInventory node{hosts[i].name, of.free, of.schedulable, {}, of.allocatable, ""};
    if (of.gpu_product != TopologyTree::kNoGpus) {
      node.gpu_product = tree.gpu_products()[of.gpu_product];
    }
    node.spot = of.is_spot();
    if (node.spot) node.spot_pool = tree.spot_pools()[of.spot_pool];
    node.domains.resize(inventory.levels.size());
    int index = hosts[i].parent;
    for (int level = tree.node_level() - 1; level > 0; --level) {
      node.domains[level - 1] = tree.level(level)[index].name;
      index = tree.level(level)[index].parent;
    }
    inventory.nodes.push_back(std::move(node));
  }
  return inventory;
}

Snapshot SnapshotOf(absl::Time now, const TopologyTree& tree, const QueueBook& book,
                    const ScheduleOptions& options) {
  Snapshot snapshot{InventoryOf(tree), book.state().specs, {}, book.Memory(now), options};
  snapshot.options.gate = nullptr;
  snapshot.options.refused = nullptr;
  snapshot.jobs.reserve(book.state().jobs.size());
  for (const auto& [uid, entry] : book.state().jobs) snapshot.jobs.push_back(entry->job);
  std::sort(snapshot.jobs.begin(), snapshot.jobs.end(),
            [](const QueuedJob& a, const QueuedJob& b) { return a.uid < b.uid; });
  return snapshot;
}

// Passes questions on and records the answers.
class NotingGate final : public GangGate {
 public:
  NotingGate(GangGate& inner, DecisionInput& input) : inner_(inner), input_(input) {}

  std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) override {
    auto nodes = inner_.NodesFor(job_uid);
    if (nodes != nullptr) input_.nodes_for[job_uid] = nodes;
    return nodes;
  }
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override {
    return input_.places_for[question.job].emplace_back(inner_.PlacesFor(question));
  }

 private:
  GangGate& inner_;
  DecisionInput& input_;
};

class KnownGate final : public GangGate {
 public:
  explicit KnownGate(const DecisionInput& input) : input_(input) {}

  std::shared_ptr<const GangNodes> NodesFor(const std::string& job_uid) override {
    const auto found = input_.nodes_for.find(job_uid);
    return found == input_.nodes_for.end() ? nullptr : found->second;
  }
  // Replays rely on the same questions coming in the same order.
  std::optional<GangAnswer> PlacesFor(const GangQuestion& question) override {
    const auto found = input_.places_for.find(question.job);
    if (found == input_.places_for.end()) return std::nullopt;
    const size_t next = asked_[question.job]++;
    return next < found->second.size() ? found->second[next] : std::nullopt;
  }

 private:
  const DecisionInput& input_;
  std::map<std::string, size_t> asked_;
};

}  // namespace

std::vector<Decision> ScheduleAndCapture(absl::Time now, TopologyTree& tree, QueueBook& book,
                                         const ScheduleOptions& options, DecisionInput& input) {
  input = {now, SnapshotOf(now, tree, book, options), {}, {}, {}};
  if (options.refused != nullptr) input.refused = options.refused->Entries();
  if (options.gate == nullptr) return Schedule(now, tree, book, options);
  NotingGate gate(*options.gate, input);
  ScheduleOptions noting = options;
  noting.gate = &gate;
  return Schedule(now, tree, book, noting);
}

DecisionInput Capture(absl::Time now, const TopologyTree& tree, const QueueBook& book,
                      const ScheduleOptions& options, const std::vector<std::string>& asked) {
  DecisionInput input{now, SnapshotOf(now, tree, book, options), {}, {}, {}};
  if (options.gate == nullptr) return input;
  NotingGate gate(*options.gate, input);
  for (const std::string& uid : asked) gate.NodesFor(uid);
  return input;
}

std::unique_ptr<GangGate> GateOf(const DecisionInput& input) {
  return std::make_unique<KnownGate>(input);
}

std::vector<Decision> Replay(const DecisionInput& input) {
  KnownGate gate(input);
  RefusalMemo refused;
  for (const RefusalMemo::Entry& entry : input.refused) refused.Restore(entry);
  Snapshot snapshot = input.snapshot;
  snapshot.options.gate = &gate;
  snapshot.options.refused = &refused;
  return Schedule(input.now, snapshot);
}

}  // namespace muster::control
