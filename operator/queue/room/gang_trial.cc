#include "operator/queue/room/gang_trial.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "operator/placement/gang_capacity.h"

namespace muster::control {
GangTrial::GangTrial(const TopologyTree& tree, const GangRequest& request, const GangNodes* usable)
    : tree_(tree), per_worker_(request.per_worker) {
  const int nodes = static_cast<int>(tree.level(tree.node_level()).size());
  if (!Resolve(request)) need_ = -1;
  sum_.resize(tree.depth());
  usable_.resize(tree.depth());
  for (int level = level_; level < tree.depth(); ++level) {
    sum_[level].resize(tree.level(level).size());
    usable_[level].resize(tree.level(level).size());
  }
  free_.reserve(nodes);
  Bound(usable);
  for (int node = 0; node < nodes; ++node) {
    free_.push_back(tree.node(node).free);
    sum_[tree.node_level()][node] = need_ > 0 ? FitNow(node) : 0;
  }
  for (int level = tree.node_level(); level >= level_; --level) {
    for (int i = 0; i < static_cast<int>(sum_[level].size()); ++i) {
      usable_[level][i] = Floor(level, i, sum_[level][i]);
      if (level > level_) sum_[level - 1][tree.level(level)[i].parent] += usable_[level][i];
    }
  }
  if (need_ > 0 && request.spot.given && !tree.spot_pools().empty()) {
    spot_.emplace(request.spot, request.min, request.max);
    FillCosts();
  }
  named_.resize(usable_[level_].size());
  for (int i = 0; i < domains(); ++i) {
    named_[i] = IsNamed(i);
    fitting_ += need_ > 0 && FitsIn(i) ? 1 : 0;
  }
}

void GangTrial::Bound(const GangNodes* nodes) {
  const int count = static_cast<int>(tree_.level(tree_.node_level()).size());
  most_.resize(count);
  for (int node = 0; node < count; ++node) {
    most_[node] = tree_.node(node).schedulable ? kUnboundedWorkers : 0;
  }
  if (nodes == nullptr) return;
  for (int node : nodes->closed) most_[node] = 0;
  for (const GangNodes::Bound& bound : nodes->bounds) {
    most_[bound.node] = std::min(most_[bound.node], bound.workers);
  }
}

int64_t GangTrial::FitNow(int node) const {
  return most_[node] > 0 ? std::min(most_[node], WorkersThatFit(free_[node], per_worker_)) : 0;
}

bool GangTrial::Resolve(const GangRequest& request) {
  auto find = [this](const std::string& name, int& level) {
    if (name.empty()) return true;
    const std::optional<int> found = tree_.FindLevel(name);
    level = found.value_or(0);
    return found.has_value();
  };
  if (!find(request.required_level, level_)) return false;
  for (const Slice& slice : request.slices) {
    int level = 0;
    if (slice.size < 1 || !find(slice.level, level)) return false;
    cuts_.push_back({slice.size, level});
  }
  if (!cuts_.empty()) outermost_ = cuts_.front().size;
  need_ = (request.min + outermost_ - 1) / outermost_ * outermost_;
  return request.min >= 1 && need_ <= request.max;
}

bool GangTrial::IsNamed(int domain) const {
  auto named = [this](int level, int index) {
    return level == 0 || !tree_.level(level)[index].name.empty();
  };
  if (!named(level_, domain)) return false;
  for (const Cut& cut : cuts_) {
    int index = domain;
    for (int level = level_; level > cut.level; --level) index = tree_.level(level)[index].parent;
    if (cut.level < level_ && !named(cut.level, index)) return false;
  }
  return true;
}

int64_t GangTrial::Floor(int level, int index, int64_t workers) const {
  for (const Cut& cut : cuts_) {
    if (cut.level != level) continue;
    const bool nowhere = level > 0 && tree_.level(level)[index].name.empty();
    workers = nowhere ? 0 : workers / cut.size * cut.size;
  }
  return workers;
}

int64_t GangTrial::UnitAt(int level) const {
  for (const Cut& cut : cuts_) {
    if (cut.level >= level) return cut.size;
  }
  return 1;
}

// Makes the costs of a domain anew from those below it.
void GangTrial::SetCosts(int level, int index) {
  const bool nowhere =
      level > 0 && tree_.level(level)[index].name.empty() &&
      std::any_of(cuts_.begin(), cuts_.end(), [&](const Cut& cut) { return cut.level == level; });
  const int64_t below = level == tree_.node_level() ? 1 : UnitAt(level + 1);
  costs_[level][index] =
      nowhere ? SpotCosts() : cost_sum_[level][index].Grouped(UnitAt(level) / below);
}

void GangTrial::FillCosts() {
  cost_sum_.resize(tree_.depth());
  costs_.resize(tree_.depth());
  for (int level = tree_.node_level(); level >= level_; --level) {
    const int domains = static_cast<int>(tree_.level(level).size());
    cost_sum_[level].resize(domains);
    costs_[level].resize(domains);
    for (int i = 0; i < domains; ++i) {
      if (level == tree_.node_level()) {
        cost_sum_[level][i].Add(tree_.node(i).is_spot() ? 1 : 0, sum_[level][i]);
      } else {
        const TopologyTree::Domain& domain = tree_.level(level)[i];
        for (int child = domain.first_child; child < domain.end_child; ++child) {
          cost_sum_[level][i].AddAll(costs_[level + 1][child]);
        }
      }
      SetCosts(level, i);
    }
  }
}

// Keeps the costs up to date when a node takes more workers by `delta`, or fewer.
void GangTrial::ChangeCosts(int node, int64_t delta) {
  int level = tree_.node_level();
  int index = node;
  cost_sum_[level][index].Add(tree_.node(node).is_spot() ? 1 : 0, delta);
  while (true) {
    const SpotCosts before = costs_[level][index];
    SetCosts(level, index);
    if (level == level_ || costs_[level][index] == before) return;
    const SpotCosts& now = costs_[level][index];
    index = tree_.level(level)[index].parent;
    --level;
    cost_sum_[level][index].AddAll(before, -1);
    cost_sum_[level][index].AddAll(now);
  }
}

bool GangTrial::FitsIn(int domain) const {
  const int64_t gang = named_[domain] ? usable_[level_][domain] / outermost_ * outermost_ : 0;
  if (!spot_ || gang < need_) return gang >= need_;
  const SpotCosts costs = costs_[level_][domain].Grouped(outermost_ / UnitAt(level_));
  return costs.CostOf(need_ / outermost_) <= spot_->MostOf(need_);
}

int64_t GangTrial::Gang(int domain) const {
  if (!named_[domain]) return 0;
  if (!spot_) return usable_[level_][domain] / outermost_ * outermost_;
  const SpotCosts costs = costs_[level_][domain].Grouped(outermost_ / UnitAt(level_));
  return spot_->Largest(costs, outermost_);
}

void GangTrial::Change(int node, const Resources& each, int64_t workers) {
  free_[node] += each * workers;
  if (need_ <= 0 || most_[node] <= 0) return;
  int64_t delta = FitNow(node) - sum_[tree_.node_level()][node];
  if (delta == 0) return;
  const int domain = DomainOf(node);
  const bool fitted = FitsIn(domain);
  if (spot_) ChangeCosts(node, delta);
  int index = node;
  for (int level = tree_.node_level(); delta != 0 && level >= level_; --level) {
    sum_[level][index] += delta;
    const int64_t now = Floor(level, index, sum_[level][index]);
    delta = now - usable_[level][index];
    usable_[level][index] = now;
    index = tree_.level(level)[index].parent;
  }
  fitting_ += static_cast<int>(FitsIn(domain)) - static_cast<int>(fitted);
}

}  // namespace muster::control
