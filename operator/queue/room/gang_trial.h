#ifndef MUSTER_OPERATOR_QUEUE_ROOM_GANG_TRIAL_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_GANG_TRIAL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "operator/placement/gang_nodes.h"
#include "operator/placement/placement.h"
#include "operator/placement/spot_bounds.h"
#include "operator/placement/topology_tree.h"

namespace muster::control {

// Computes whether a gang's smallest size would fit if some nodes had more or less free: Place's
// own arithmetic kept up to date change by change, O(depth) each, on a copy of what is free. Made
// in O(nodes). The tree must outlive it and keep its shape. Not thread-safe.
class GangTrial {
 public:
  // `nodes`: those that the gang may use; null: all. Read only by the constructor.
  GangTrial(const TopologyTree& tree, const GangRequest& request, const GangNodes* nodes = nullptr);

  // `workers` of `each` leave the node, or come to it.
  void Release(int node, const Resources& each, int64_t workers = 1) {
    Change(node, each, workers);
  }
  void Take(int node, const Resources& each, int64_t workers = 1) { Change(node, each, -workers); }

  bool Fits() const { return fitting_ > 0; }
  // The workers asked for: the smallest size of whole slices.
  int64_t need() const { return need_; }

  // The domains of the required level; the whole cluster if none is required.
  int domains() const { return static_cast<int>(named_.size()); }
  int DomainOf(int node) const { return tree_.AncestorOf(node, level_); }
  bool FitsIn(int domain) const;
  // The largest gang there; 0 for the nodes that are in no domain of the level.
  int64_t Gang(int domain) const;
  const Resources& free(int node) const { return free_[node]; }
  int64_t FitOn(int node) const { return usable_[tree_.node_level()][node]; }
  const Resources& per_worker() const { return per_worker_; }
  // Returns true if the gang may use the node at all.
  bool schedulable(int node) const { return most_[node] > 0; }

 private:
  bool Resolve(const GangRequest& request);
  int64_t Floor(int level, int index, int64_t workers) const;
  void Change(int node, const Resources& each, int64_t workers);
  void ChangeCosts(int node, int64_t delta);
  void FillCosts();
  void SetCosts(int level, int index);
  int64_t UnitAt(int level) const;
  void Bound(const GangNodes* nodes);
  int64_t FitNow(int node) const;
  bool IsNamed(int domain) const;

  const TopologyTree& tree_;
  const Resources per_worker_;
  int level_ = 0;      // the required one
  int64_t need_ = -1;  // -1: no size fits, ever
  int64_t outermost_ = 1;
  struct Cut {
    int64_t size;
    int level;
  };
  std::vector<Cut> cuts_;  // the slices
  std::vector<Resources> free_;
  std::vector<int64_t> most_;              // workers that a node takes, whatever is free
  std::vector<std::vector<int64_t>> sum_;  // by level and index: the children's usable_, added up
  std::vector<std::vector<int64_t>> usable_;  // less what fills no slice
  // With bounds on spot nodes: the costs behind sum_ and usable_.
  std::optional<SpotLimit> spot_;
  std::vector<std::vector<SpotCosts>> cost_sum_;
  std::vector<std::vector<SpotCosts>> costs_;
  std::vector<bool> named_;  // by domain: it may hold the gang
  int fitting_ = 0;          // domains in which the gang fits
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_GANG_TRIAL_H_
