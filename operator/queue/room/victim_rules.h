#ifndef MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_RULES_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_RULES_H_

#include <set>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/room/victim_options.h"
#include "operator/queue/room/victim_trial.h"

namespace muster::control {

// Checks a trial by all rules of a gang with inter-pod constraints. Free room is not enough,
// because pods of the gang, or other pods, may exclude each other. Asks the gate at most
// kMostQuestions times; after that every trial fails. Tree, state, newcomer and gate must outlive
// it.
class VictimRules {
 public:
  static constexpr int kMostQuestions = 64;

  VictimRules(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
              const JobEntry& newcomer, const VictimOptions& options);

  // True if the newcomer has inter-pod constraints. All trials of other newcomers pass.
  bool apply() const { return apply_; }
  // Returns true if the newcomer has places by every rule in the trial's state. Ignores quota.
  bool Pass(VictimTrial& trial);
  bool exhausted() const { return asked_ > kMostQuestions; }
  // The newcomer's nodes in the last trial that passed; empty: not known.
  const std::set<int>& nodes() const { return nodes_; }

 private:
  const TopologyTree& tree_;
  GangGate* const gate_;
  bool apply_ = false;
  GangQuestion question_;  // without the workers that a trial takes
  std::set<int> nodes_;
  int asked_ = 0;
};

// Finds victims that let the newcomer in by every rule, for when victims by room are not enough.
// Takes everything that may be taken, then gives it back, the most expensive first, as long as the
// newcomer keeps its places. Every victim that is left is needed, but another set may cost less.
// Returns false if no set suffices, or if none was found within kMostQuestions; the trial must not
// be used after that.
bool ChooseByRules(VictimTrial& trial, VictimRules& rules);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_RULES_H_
