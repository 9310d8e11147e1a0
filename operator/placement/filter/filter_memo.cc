#include "operator/placement/filter/filter_memo.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/placement/cluster/label_selector.h"
#include "operator/placement/cluster/resource_amounts.h"
#include "operator/placement/cluster/spot_labels.h"

namespace muster::control {
namespace {

// The length keeps adjacent texts apart.
void Append(std::string& key, std::string_view text) {
  absl::StrAppend(&key, text.size(), ":");
  key.append(text);
  key += ' ';
}

void Append(std::string& key, const LabelRequirement& one) {
  Append(key, one.key);
  absl::StrAppend(&key, static_cast<int>(one.op), " ", one.values.size(), " ");
  for (const std::string& value : one.values) Append(key, value);
}

void Append(std::string& key, const std::vector<LabelRequirement>& all) {
  absl::StrAppend(&key, all.size(), " ");
  for (const LabelRequirement& one : all) Append(key, one);
}

void AppendSelectors(std::string& key, const PodConstraints& wants) {
  absl::StrAppend(&key, "\nselector ", wants.node_selector.size(), " ");
  for (const auto& [name, value] : wants.node_selector) {
    Append(key, name);
    Append(key, value);
  }
  if (!wants.node_affinity) return;
  absl::StrAppend(&key, "\naffinity ", wants.node_affinity->size(), " ");
  for (const NodeSelectorTerm& term : *wants.node_affinity) {
    absl::StrAppend(&key, term.valid, " ");
    Append(key, term.expressions);
    Append(key, term.fields);
  }
}

void AppendRest(std::string& key, const PodConstraints& wants) {
  absl::StrAppend(&key, "\ntolerations ");
  for (const PodToleration& one : wants.tolerations) {
    for (const std::string* text : {&one.key, &one.op, &one.value, &one.effect}) {
      Append(key, *text);
    }
  }
  absl::StrAppend(&key, "\ndisks ");
  for (const InlineDisk& disk : wants.disks) {
    absl::StrAppend(&key, static_cast<int>(disk.kind), disk.read_only, disk.monitors.size(), " ");
    Append(key, disk.id);
    for (const std::string& monitor : disk.monitors) Append(key, monitor);
  }
  absl::StrAppend(&key, "\n", wants.affinity_invalid, wants.spread_invalid, wants.resource_claims);
}

}  // namespace

std::string TemplateKey(const SchedulingPod& pod) {
  const ResourceAmounts& asks = pod.requests;
  std::string key = absl::StrCat(pod.priority, " ", asks.cpu_millis, " ", asks.memory_bytes, " ",
                                 asks.ephemeral_bytes, " ");
  for (const auto& [name, amount] : asks.scalars) absl::StrAppend(&key, name, "=", amount, " ");
  Append(key, pod.scheduler_name);
  Append(key, pod.node);
  if (AvoidsSpot(pod.labels)) key += "avoids spot ";
  for (const HostPort& port : pod.host_ports) {
    absl::StrAppend(&key, port.ip, "/", port.protocol, "/", port.port, " ");
  }
  AppendSelectors(key, pod.wants());
  AppendRest(key, pod.wants());
  return key;
}

FilterMemo::Known& FilterMemo::Remembered(const std::string& key) {
  if (known_.size() >= most_ && known_.count(key) == 0) {
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    }));
  }
  Known& known = known_[key];
  known.used = ++uses_;
  return known;
}

void FilterMemo::Ask(const NodeFilter& filter, const std::vector<NodePointer>& states,
                     Known& known) {
  if (known.verdicts.size() != states.size()) known.nodes = nullptr;
  known.verdicts.resize(states.size());
  for (size_t i = 0; i < states.size(); ++i) {
    NodeVerdict& verdict = known.verdicts[i];
    if (verdict.state == states[i]) continue;
    ++asked_;
    known.nodes = nullptr;
    verdict.state = states[i];
    verdict.refusal = Share(filter.Check(*states[i]));
    verdict.room = verdict.refusal != nullptr ? 0 : filter.Room(*states[i]);
  }
}

FilteredNodes FilterMemo::NodesFor(const SchedulingPod& pod, const ClusterSnapshot& snapshot,
                                   const TopologyTree& tree, const std::vector<NodePointer>& states,
                                   const FilterOptions& options) {
  const NodeFilter filter(pod, snapshot, options);
  const bool node_local = filter.node_local();
  Known of_now;
  Known& known = node_local ? Remembered(TemplateKey(pod)) : of_now;
  Ask(filter, states, known);
  if (known.nodes == nullptr) {
    known.nodes = std::make_shared<const GangNodes>(GatherNodes(pod, known.verdicts, tree));
  }
  return {known.nodes, node_local};
}

}  // namespace muster::control
