#include "operator/queue/book/quota_tree.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace muster::control {
namespace {

// A few of these can be added without overflow.
constexpr int64_t kMost = int64_t{1} << 56;

int64_t Sane(int64_t amount) { return std::clamp<int64_t>(amount, 0, kMost); }

}  // namespace

QuotaTree::QuotaTree(const std::vector<QueueSpec>& queues,
                     const std::vector<std::string>& also_resources) {
  std::set<std::string> resources(also_resources.begin(), also_resources.end());
  for (const QueueSpec& queue : queues) {
    nodes_[AddNode(queue.name)].listed = true;
    for (const Quota& quota : queue.quotas) resources.insert(quota.resource);
    for (const NamespaceLimit& limit : queue.namespace_limits) {
      for (const auto& [resource, amount] : limit.limits) resources.insert(resource);
    }
  }
  for (const std::string& resource : resources) {
    resource_index_[resource] = static_cast<int>(resource_names_.size());
    resource_names_.push_back(resource);
  }
  LinkParents(queues);
  FillCells(queues);
}

int QuotaTree::AddNode(const std::string& name) {
  const auto [at, added] = queue_index_.emplace(name, queues());
  if (added) {
    nodes_.push_back({});
    nodes_.back().name = name;
    nodes_.back().root = at->second;
  }
  return at->second;
}

void QuotaTree::LinkParents(const std::vector<QueueSpec>& queues) {
  for (const QueueSpec& queue : queues) {
    if (queue.parent.empty()) continue;
    const int parent = AddNode(queue.parent);
    nodes_[parent].is_cohort = true;
    nodes_[FindQueue(queue.name)].parent = parent;
  }
  const int count = static_cast<int>(nodes_.size());
  std::vector<int> height(count);
  for (int i = 0; i < count; ++i) {
    int steps = 0;
    int at = i;
    for (; nodes_[at].parent >= 0 && steps <= count; ++steps) at = nodes_[at].parent;
    nodes_[i].root = at;
    nodes_[i].is_broken = steps > count;
    height[i] = steps;
  }
  for (Node& node : nodes_) {
    if (node.is_broken) node.parent = -1;
  }
  for (int i = 0; i < count; ++i) children_first_.push_back(i);
  std::stable_sort(children_first_.begin(), children_first_.end(),
                   [&](int a, int b) { return height[a] > height[b]; });
}

void QuotaTree::FillCells(const std::vector<QueueSpec>& queues) {
  cells_.resize(nodes_.size() * resource_names_.size());
  for (const QueueSpec& queue : queues) {
    for (const Quota& quota : queue.quotas) {
      Cell& cell = At(FindQueue(queue.name), resource_index_[quota.resource]);
      cell.nominal = Sane(quota.nominal);
      cell.subtree = cell.nominal;
      if (quota.borrow_limit) cell.borrow_limit = Sane(*quota.borrow_limit);
      if (quota.lend_limit) cell.lend_limit = Sane(*quota.lend_limit);
      cell.limited = true;
    }
  }
  // Parents first: a resource that a cohort lists is limited for all below it.
  for (auto at = children_first_.rbegin(); at != children_first_.rend(); ++at) {
    if (nodes_[*at].parent < 0) continue;
    for (int r = 0; r < resources(); ++r) {
      At(*at, r).limited = At(*at, r).limited || At(nodes_[*at].parent, r).limited;
    }
  }
  for (int i : children_first_) {
    const int parent = nodes_[i].parent;
    if (parent < 0) continue;
    for (int r = 0; r < resources(); ++r) {
      const Cell& cell = At(i, r);
      At(parent, r).subtree += cell.subtree - cell.kept();
      // The cohort is then limited to what its children have, but other children of it are not.
      At(parent, r).limited = At(parent, r).limited || cell.limited;
    }
  }
}

int QuotaTree::FindQueue(absl::string_view name) const {
  const auto found = queue_index_.find(name);
  return found == queue_index_.end() ? -1 : found->second;
}

int64_t QuotaTree::Potential(int queue, int resource) const {
  const Cell& cell = At(queue, resource);
  const int parent = nodes_[queue].parent;
  if (parent < 0) return cell.subtree;
  const int64_t most = cell.kept() + Potential(parent, resource);
  return cell.borrow_limit < 0 ? most : std::min(most, cell.subtree + cell.borrow_limit);
}

QuotaNeed QuotaTree::NeedOf(const Amounts& amounts, int64_t times) const {
  QuotaNeed need;
  for (const auto& [resource, amount] : amounts) {
    const auto found = resource_index_.find(resource);
    if (found == resource_index_.end() || amount <= 0) continue;
    need.push_back({found->second, std::min(amount, kMost / std::max<int64_t>(1, times)) * times});
  }
  return need;
}

QuotaUse::QuotaUse(const QuotaTree& tree)
    : tree_(&tree),
      bubbled_(static_cast<size_t>(tree.queues()) * tree.resources()),
      total_(bubbled_.size()) {}

void QuotaUse::Change(int queue, const QuotaNeed& amount, int sign) {
  for (const auto& [resource, whole] : amount) {
    const bool limited = tree_->is_limited(queue, resource);
    int64_t part = whole;
    for (int at = queue; at >= 0; at = tree_->parent(at)) {
      total_[Index(at, resource)] += sign * whole;
      if (!limited) break;
      const int64_t kept = tree_->At(at, resource).kept();
      int64_t& used = bubbled_[Index(at, resource)];
      const int64_t before = std::max<int64_t>(0, used - kept);
      used += sign * part;
      part = std::abs(std::max<int64_t>(0, used - kept) - before);
    }
  }
}

int64_t QuotaUse::used(int queue, int resource) const { return total_[Index(queue, resource)]; }

int64_t QuotaUse::Available(int queue, int resource) const {
  const QuotaTree::Cell& cell = tree_->At(queue, resource);
  const int64_t used = bubbled_[Index(queue, resource)];
  const int parent = tree_->parent(queue);
  if (parent < 0) return cell.subtree - used;
  const int64_t kept = cell.kept();
  int64_t above = Available(parent, resource);
  if (cell.borrow_limit >= 0) {
    const int64_t lent = cell.subtree - kept;
    const int64_t taken = std::max<int64_t>(0, used - kept);
    above = std::min(above, lent - taken + cell.borrow_limit);
  }
  return std::max<int64_t>(0, kept - used) + above;
}

bool QuotaUse::Fits(int queue, const QuotaNeed& need) const {
  for (const auto& [resource, amount] : need) {
    if (tree_->is_limited(queue, resource) && Available(queue, resource) < amount) return false;
  }
  return true;
}

bool QuotaUse::WithinQuota(int queue, const QuotaNeed& more) const {
  for (const auto& [resource, amount] : more) {
    if (!tree_->is_limited(queue, resource)) continue;
    if (used(queue, resource) + amount > tree_->subtree_quota(queue, resource)) return false;
  }
  return true;
}

bool QuotaUse::OverQuota(int queue, const QuotaNeed& resources) const {
  for (const auto& [resource, amount] : resources) {
    if (used(queue, resource) > tree_->subtree_quota(queue, resource) &&
        tree_->is_limited(queue, resource)) {
      return true;
    }
  }
  return false;
}

QuotaNeed QuotaUse::Lacking(int queue, const QuotaNeed& need) const {
  QuotaNeed lacking;
  for (const auto& one : need) {
    if (!Fits(queue, {one})) lacking.push_back(one);
  }
  return lacking.empty() ? need : lacking;
}

bool QuotaUse::MayReclaim(int queue, const QuotaNeed& need, const QuotaNeed& lacking,
                          int victim) const {
  if (queue == victim || tree_->root(queue) != tree_->root(victim)) return false;
  return OverQuota(victim, lacking) && OverQuota(PartOf(victim, queue), lacking) &&
         StaysWithin(queue, need, victim);
}

bool QuotaUse::StaysWithin(int queue, const QuotaNeed& need, int victim) const {
  return WithinQuota(PartOf(queue, victim), need);
}

int QuotaUse::PartOf(int queue, int other) const {
  auto is_above = [this](int upper, int lower) {
    for (int at = lower; at >= 0; at = tree_->parent(at)) {
      if (at == upper) return true;
    }
    return false;
  };
  while (tree_->parent(queue) >= 0 && !is_above(tree_->parent(queue), other)) {
    queue = tree_->parent(queue);
  }
  return queue;
}

}  // namespace muster::control
