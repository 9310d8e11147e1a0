#ifndef MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_RULES_H_
#define MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_RULES_H_

#include <set>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/book/queue_state.h"
#include "operator/queue/room/victim_trial.h"
#include "operator/queue/room/victims.h"

namespace muster::control {

// Checks a trial by all rules of a gang with inter-pod constraints: room is not enough, because its
// pods, or those of others, may be in each other's way. Asks the gate at most kMostQuestions times,
// then every answer is no. Tree, state, newcomer and gate must outlive it.
class VictimRules {
 public:
  static constexpr int kMostQuestions = 64;

  VictimRules(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
              const JobEntry& newcomer, const VictimOptions& options);

  // True if the newcomer has inter-pod constraints. All trials of other newcomers pass.
  bool apply() const { return apply_; }
  // Returns true if it has places by every rule as the trial stands; quota is not looked at.
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
// Takes all that may be taken, and gives it back as far as the newcomer keeps its places, the
// dearest first: so each that stays taken is needed, but another set may cost less. False: there is
// none, or it was not found with so many questions; the trial must not be used after that.
bool ChooseByRules(VictimTrial& trial, VictimRules& rules);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_ROOM_VICTIM_RULES_H_
