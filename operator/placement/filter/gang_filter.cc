#include "operator/placement/filter/gang_filter.h"

#include <cstddef>
#include <utility>

namespace muster::control {

GangFilter::GangFilter(ClusterSnapshot snapshot, std::vector<NodePointer> states,
                       FilterOptions options)
    : snapshot_(std::move(snapshot)),
      states_(std::move(states)),
      options_(std::move(options)),
      alone_(states_.size()),
      verdicts_(states_.size()) {}

void GangFilter::TurnTo(const PodPointer& pod) {
  const std::optional<int> went = std::exchange(went_, std::nullopt);
  if (pod == pod_ && !went) return;
  if (!went || !filter_->GoOn(*pod, *states_[static_cast<size_t>(*went)])) {
    alone_.assign(states_.size(), {});
    filter_.emplace(*pod, snapshot_, options_);
  }
  pod_ = pod;
}

void GangFilter::UpdateVerdict(NodeVerdict& alone, NodeVerdict& verdict, const NodePointer& state) {
  verdict.state = state;
  if (!state->nominated.empty()) {
    verdict.refusal = Share(filter_->Check(*state));
  } else {
    if (alone.state != state) alone = {state, Share(filter_->CheckAlone(*state))};
    verdict.refusal =
        alone.refusal != nullptr ? alone.refusal : Share(filter_->CheckAmongOthers(*state));
  }
  verdict.room = verdict.refusal != nullptr ? 0 : filter_->Room(*state);
}

GangNodes GangFilter::NodesFor(const PodPointer& pod, const TopologyTree& tree) {
  TurnTo(pod);
  for (size_t i = 0; i < states_.size(); ++i) UpdateVerdict(alone_[i], verdicts_[i], states_[i]);
  return GatherNodes(*pod, verdicts_, tree);
}

void GangFilter::Place(const PodPointer& pod, int node) {
  NodePointer& state = states_[static_cast<size_t>(node)];
  const std::string name = state->node->name;
  if (!pod->wants().claims.empty()) AssumeVolumes(*state, *pod, snapshot_);
  snapshot_.AddPod(pod, name);
  state = snapshot_.ShareNode(name);
  if (pod == pod_ && !went_) {
    went_ = node;
  } else {
    pod_ = nullptr;
  }
}

}  // namespace muster::control
