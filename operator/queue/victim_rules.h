#ifndef MUSTER_OPERATOR_QUEUE_VICTIM_RULES_H_
#define MUSTER_OPERATOR_QUEUE_VICTIM_RULES_H_

#include <set>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/gang_nodes.h"
#include "operator/placement/topology_tree.h"
#include "operator/queue/queue_state.h"
#include "operator/queue/victim_trial.h"
#include "operator/queue/victims.h"

namespace muster::control {

// Room on nodes is not all that a social gang needs: its pods, or those of others, may be in each
// other's way. Asks the gate about trials, so often at most; then it says no. Tree, state, newcomer
// and gate must outlive it.
class VictimRules {
 public:
  static constexpr int kMostQuestions = 64;

  VictimRules(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
              const JobEntry& newcomer, const VictimOptions& options);

  // The newcomer is social. For others all trials pass.
  bool apply() const { return apply_; }
  // Whether it has places by every rule as the trial stands; quota is not looked at.
  bool Pass(VictimTrial& trial);
  bool exhausted() const { return asked_ > kMostQuestions; }
  // Of the last trial that passed; empty: not known.
  const std::set<int>& nodes() const { return nodes_; }

 private:
  const TopologyTree& tree_;
  GangGate* const gate_;
  bool apply_ = false;
  GangQuestion question_;  // without the trial's own
  std::set<int> nodes_;
  int asked_ = 0;
};

// For when victims by room are not enough: whose going lets the newcomer in by every rule. All that
// may be taken is, and given back as far as the newcomer keeps its places, the dearest first; so
// each that stays taken is needed, but another set may cost less. False: there is none, or it was
// not found with so many questions; then the trial is of no use any more.
bool ChooseByRules(VictimTrial& trial, VictimRules& rules);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_VICTIM_RULES_H_
