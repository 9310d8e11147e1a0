#ifndef MUSTER_OPERATOR_QUEUE_BOOK_QUOTA_TREE_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_QUOTA_TREE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "operator/queue/book/queue_spec.h"

namespace muster::control {

// Amounts of a job or gang by the tree's resource indices. Leaves out resources without an index:
// no quota or namespace limit lists them, nor does `also_resources`.
using QuotaNeed = std::vector<std::pair<int, int64_t>>;

// The quotas of all queues and cohorts: how much each may use, given the use of all. Immutable: the
// use is kept apart (QuotaUse), so that a decision can try changes on a copy. Resources and queues
// are indices here. Thread-safe.
class QuotaTree {
 public:
  // `also_resources`: resources that get an index, for shares, though no quota may list them.
  explicit QuotaTree(const std::vector<QueueSpec>& queues,
                     const std::vector<std::string>& also_resources = {});

  int queues() const { return static_cast<int>(nodes_.size()); }
  int resources() const { return static_cast<int>(resource_names_.size()); }
  // Returns -1 if no queue or cohort has the name.
  int FindQueue(absl::string_view name) const;
  const std::string& queue_name(int queue) const { return nodes_[queue].name; }
  const std::string& resource_name(int resource) const { return resource_names_[resource]; }
  int parent(int queue) const { return nodes_[queue].parent; }
  // The cohort at the top; the queue itself when it has no parent.
  int root(int queue) const { return nodes_[queue].root; }
  bool is_cohort(int queue) const { return nodes_[queue].is_cohort; }
  // Returns true if its parents form a cycle; no job may use it then.
  bool is_broken(int queue) const { return nodes_[queue].is_broken; }
  // Returns true if the queue, a parent or, for a cohort, a queue below it lists the resource.
  bool is_limited(int queue, int resource) const { return At(queue, resource).limited; }
  int64_t nominal(int queue, int resource) const { return At(queue, resource).nominal; }
  // Its own nominal quota plus what its children lend.
  int64_t subtree_quota(int queue, int resource) const { return At(queue, resource).subtree; }
  // Returns the most that a queue could use if all other queues used nothing.
  int64_t Potential(int queue, int resource) const;

  QuotaNeed NeedOf(const Amounts& amounts, int64_t times) const;

 private:
  friend class QuotaUse;
  struct Node {
    std::string name;
    int parent = -1;
    int root = 0;
    bool is_cohort = false;
    bool is_broken = false;
    bool listed = false;  // it has a QueueSpec
  };
  struct Cell {
    int64_t nominal = 0;
    int64_t subtree = 0;
    int64_t borrow_limit = -1;  // -1: none
    int64_t lend_limit = -1;
    bool limited = false;
    // The part of `subtree` that the node does not lend.
    int64_t kept() const {
      return lend_limit < 0 ? 0 : (subtree > lend_limit ? subtree - lend_limit : 0);
    }
  };
  const Cell& At(int queue, int resource) const { return cells_[queue * resources() + resource]; }
  Cell& At(int queue, int resource) { return cells_[queue * resources() + resource]; }
  int AddNode(const std::string& name);
  void LinkParents(const std::vector<QueueSpec>& queues);
  void FillCells(const std::vector<QueueSpec>& queues);

  std::vector<Node> nodes_;
  std::vector<std::string> resource_names_;
  std::vector<Cell> cells_;
  std::vector<int> children_first_;  // node indices, every child before its parent
  absl::flat_hash_map<std::string, int> queue_index_;
  absl::flat_hash_map<std::string, int> resource_index_;
};

// The amounts that the queues use. A value: copy it to try something out. The tree must outlive it.
class QuotaUse {
 public:
  explicit QuotaUse(const QuotaTree& tree);

  void Add(int queue, const QuotaNeed& amount) { Change(queue, amount, 1); }
  void Remove(int queue, const QuotaNeed& amount) { Change(queue, amount, -1); }

  // Used by jobs in the queue and, for a cohort, in all queues below it.
  int64_t used(int queue, int resource) const;
  // The amount of a limited resource that the queue could use in addition now. May be negative.
  int64_t Available(int queue, int resource) const;
  // Returns true if all of `need` is available. Resources that are not limited always are.
  bool Fits(int queue, const QuotaNeed& need) const;
  // Returns true if the queue or cohort would be within its own quota (a cohort's: its own and all
  // that its children lend) with `more` used below it.
  bool WithinQuota(int queue, const QuotaNeed& more) const;
  // Returns true if it uses more than its own quota of one of these resources.
  bool OverQuota(int queue, const QuotaNeed& resources) const;
  // The part of `need` that is not available; all of it if everything is: then nodes are short.
  QuotaNeed Lacking(int queue, const QuotaNeed& need) const;
  // Returns true if a queue that needs `need`, and lacks `lacking` of it, may take quota back from
  // `victim`. Both must be in one cohort. Of the two parts of that cohort that they are in, the
  // queue's stays within its quota, and the victim's, as `victim` itself, uses more than its own of
  // something that is lacking.
  bool MayReclaim(int queue, const QuotaNeed& need, const QuotaNeed& lacking, int victim) const;
  // The test that the queue's part stays within its quota, alone.
  bool StaysWithin(int queue, const QuotaNeed& need, int victim) const;

 private:
  void Change(int queue, const QuotaNeed& amount, int sign);
  // The part of the innermost common cohort that `queue` is in.
  int PartOf(int queue, int other) const;
  size_t Index(int queue, int resource) const { return queue * tree_->resources() + resource; }

  const QuotaTree* tree_;
  // By node: use by its own jobs, and what its children take beyond what they keep to themselves.
  std::vector<int64_t> bubbled_;
  std::vector<int64_t> total_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUOTA_TREE_H_
