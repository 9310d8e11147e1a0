#include "operator/queue/room/victim_rules.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "operator/queue/room/gang_question.h"

namespace muster::control {

VictimRules::VictimRules(absl::Time now, const TopologyTree& tree, const QueueBook::State& state,
                         const JobEntry& newcomer, const VictimOptions& options)
    : tree_(tree), gate_(options.gate) {
  if (gate_ == nullptr) return;
  const std::shared_ptr<const GangNodes> nodes = gate_->NodesFor(newcomer.job.uid);
  apply_ = HasInterPodConstraints(nodes.get());
  if (!apply_) return;
  GangRequest request = newcomer.job.request;
  request.min = request.max = options.workers > 0 ? options.workers : request.min;
  question_ = QuestionAbout(now, state, newcomer, std::move(request));
  AddLeavers(now, state, options.stop_grace, question_);
  if (options.claims == nullptr) return;
  for (const Claim& claim : options.claims->all()) {
    if (claim.job == &newcomer || claim.nodes.empty()) continue;
    question_.starters.push_back({claim.job->job.uid, {}});
    for (int node : claim.nodes) {
      question_.starters.back().nodes.push_back(tree.level(tree.node_level())[node].name);
    }
  }
}

bool VictimRules::Pass(VictimTrial& trial) {
  if (!apply_) return true;
  if (++asked_ > kMostQuestions) return false;
  GangQuestion question = question_;
  for (const VictimCandidate& candidate : trial.candidates()) {
    if (candidate.keep == candidate.workers) continue;
    // It may have been told to shrink before.
    const auto told =
        std::find_if(question.leavers.begin(), question.leavers.end(),
                     [&candidate](const auto& one) { return one.job == candidate.entry->job.uid; });
    if (told != question.leavers.end()) question.leavers.erase(told);
    question.leavers.push_back({candidate.entry->job.uid, candidate.keep});
  }
  const std::optional<GangAnswer> answer = gate_->PlacesFor(question);
  if (!answer) return trial.gang().Fits();
  if (answer->nodes.empty()) return false;
  nodes_.clear();
  for (const std::string& name : answer->nodes) {
    if (const auto node = tree_.FindNode(name)) nodes_.insert(*node);
  }
  return true;
}

namespace {

class ByRules {
 public:
  ByRules(VictimTrial& trial, VictimRules& rules) : trial_(trial), rules_(rules) {}

  bool Run();

 private:
  using Order = std::vector<VictimCandidate*>;
  Order All();
  bool Holds() { return trial_.QuotaFits() && rules_.Pass(trial_); }
  bool IsInTheWay(const VictimCandidate& candidate) const;
  // Stops all that may be stopped: those in the newcomer's way first, then the cheapest.
  bool StopAll();
  void GiveBack(Order::iterator first, Order::iterator last);

  VictimTrial& trial_;
  VictimRules& rules_;
  std::vector<int> shrunk_;  // by candidate: workers kept with all shrunk and none stopped
  Order stopped_;
};

ByRules::Order ByRules::All() {
  Order all;
  for (VictimCandidate& candidate : trial_.candidates()) all.push_back(&candidate);
  return all;
}

bool ByRules::IsInTheWay(const VictimCandidate& candidate) const {
  return std::any_of(candidate.nodes.begin(), candidate.nodes.end(),
                     [this](int node) { return rules_.nodes().count(node) > 0; });
}

bool ByRules::StopAll() {
  Order order = All();
  // The places that it would get if it might take from all of them.
  for (VictimCandidate* candidate : order) {
    if (candidate->stoppable) trial_.SetKeep(*candidate, 0);
  }
  if (!rules_.Pass(trial_)) return false;
  for (size_t i = 0; i < order.size(); ++i) trial_.SetKeep(*order[i], shrunk_[i]);
  std::stable_sort(order.begin(), order.end(), [this](const auto* a, const auto* b) {
    const bool a_first = IsInTheWay(*a);
    return a_first != IsInTheWay(*b) ? a_first : a->stop_cost < b->stop_cost;
  });
  // The second pass is for borrowers that may be taken from only when others have gone.
  for (int pass = 0; pass < (trial_.must_evict_own_queue_first() ? 2 : 1); ++pass) {
    for (VictimCandidate* candidate : order) {
      if (candidate->keep == 0 || !candidate->stoppable || !trial_.MayTake(*candidate)) continue;
      trial_.SetKeep(*candidate, 0);
      stopped_.push_back(candidate);
    }
  }
  return Holds();
}

// Gives back halves, quarters, ... of the range, with one question each.
void ByRules::GiveBack(Order::iterator first, Order::iterator last) {
  if (first == last) return;
  auto keep = [this](const VictimCandidate* candidate) {
    return shrunk_[candidate - trial_.candidates().data()];
  };
  for (auto it = first; it != last; ++it) trial_.SetKeep(**it, keep(*it));
  if (Holds()) return;
  for (auto it = first; it != last; ++it) trial_.SetKeep(**it, 0);
  if (last - first == 1 || rules_.exhausted()) return;
  const auto middle = first + (last - first) / 2;
  GiveBack(first, middle);
  GiveBack(middle, last);
}

bool ByRules::Run() {
  for (VictimCandidate* candidate : All()) trial_.SetKeep(*candidate, candidate->workers);
  trial_.ShrinkAll();
  for (const VictimCandidate* candidate : All()) shrunk_.push_back(candidate->keep);
  if (!Holds()) {
    if (!StopAll()) return false;
    std::stable_sort(stopped_.begin(), stopped_.end(),
                     [](const auto* a, const auto* b) { return a->stop_cost > b->stop_cost; });
    const auto in_the_way = std::stable_partition(
        stopped_.begin(), stopped_.end(), [this](const auto* one) { return !IsInTheWay(*one); });
    const size_t apart = in_the_way - stopped_.begin();
    GiveBack(stopped_.begin(), stopped_.begin() + apart);
    GiveBack(stopped_.begin() + apart, stopped_.end());
  }
  trial_.GiveBackShrunk([this] { return Holds(); });
  return !rules_.exhausted();
}

}  // namespace

bool ChooseByRules(VictimTrial& trial, VictimRules& rules) { return ByRules(trial, rules).Run(); }

}  // namespace muster::control
