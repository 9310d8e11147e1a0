#include "operator/queue/book/quota_amounts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "operator/placement/cluster/label_selector.h"
#include "operator/placement/cluster/resource_amounts.h"

namespace muster::control {
namespace {

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kProduct[] = "nvidia.com/gpu.product";

void Add(const std::string& resource, int64_t amount, Amounts& to) {
  if (amount <= 0) return;
  int64_t& sum = to[resource];
  if (__builtin_add_overflow(sum, amount, &sum)) sum = INT64_MAX;
}

void AddAll(const ResourceAmounts& amounts, const GpuKindSet& kinds, Amounts& to) {
  Add("cpu", amounts.cpu_millis, to);
  Add("memory", amounts.memory_bytes, to);
  Add("ephemeral-storage", amounts.ephemeral_bytes, to);
  for (const auto& [name, amount] : amounts.scalars) Add(name, amount, to);
  const int64_t gpus = amounts.scalar(kGpu);
  for (const std::string& kind : kinds) Add(absl::StrCat(kGpu, "/", kind), gpus, to);
}

// Only the product counts: requirements on other labels rule out no kind.
bool LetsIn(const NodeSelectorTerm& term, const LabelMap& product) {
  return term.valid && std::all_of(term.expressions.begin(), term.expressions.end(),
                                   [&](const LabelRequirement& one) {
                                     return one.key != kProduct || one.Matches(product);
                                   });
}

bool LetsIn(const PodConstraints& wants, const std::string& kind) {
  const auto selected = wants.node_selector.find(kProduct);
  if (selected != wants.node_selector.end() && selected->second != kind) return false;
  if (!wants.node_affinity) return true;
  const LabelMap product = {{kProduct, kind}};
  return std::any_of(wants.node_affinity->begin(), wants.node_affinity->end(),
                     [&](const NodeSelectorTerm& term) { return LetsIn(term, product); });
}

void AddNamed(const PodConstraints& wants, GpuKindSet& to) {
  const auto selected = wants.node_selector.find(kProduct);
  if (selected != wants.node_selector.end()) to.emplace(selected->second);
  if (!wants.node_affinity) return;
  for (const NodeSelectorTerm& term : *wants.node_affinity) {
    for (const LabelRequirement& one : term.expressions) {
      if (one.key != kProduct || one.op != SelectorOperator::kIn) continue;
      to.insert(one.values.begin(), one.values.end());
    }
  }
}

}  // namespace

std::string GpuKindOf(const SchedulingNode& node) {
  const auto product = node.labels.find(kProduct);
  return product == node.labels.end() ? "" : std::string(product->second);
}

GpuKindSet GpuKindsFor(const PodConstraints& wants, const GpuKindSet& there) {
  GpuKindSet kinds = there;
  AddNamed(wants, kinds);
  std::erase_if(kinds, [&](const std::string& kind) { return !LetsIn(wants, kind); });
  return kinds;
}

Amounts QuotaOf(const SchedulingPod& pod, const GpuKindSet& kinds) {
  Amounts amounts;
  AddAll(pod.requests, kinds, amounts);
  return amounts;
}

void AddCapacity(const SchedulingNode& node, Amounts& to) {
  if (node.complaint) return;
  const std::string kind = GpuKindOf(node);
  AddAll(node.allocatable, kind.empty() ? GpuKindSet{} : GpuKindSet{kind}, to);
}

}  // namespace muster::control
