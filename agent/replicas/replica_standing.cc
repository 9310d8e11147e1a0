#include "agent/replicas/replica_standing.h"

#include <algorithm>
#include <utility>

#include "agent/core/copies_layout.h"

namespace muster::agent {

void ReplicaStanding::BeginPeer(bool there) {
  streams_ = there;
  kept_.clear();
}

void ReplicaStanding::Kept(int local_rank, const v1alpha1::Version& version,
                           absl::Duration sending) {
  streams_ = true;
  Replicas& kept = kept_[local_rank];
  std::erase_if(kept.versions, [&](const auto& other) { return other.step() == version.step(); });
  kept.versions.push_front(version);
  if (kept.versions.size() > kCopiesOfARank) kept.versions.pop_back();
  kept.sending = sending;
}

bool ReplicaStanding::Has(int local_rank, const v1alpha1::Version& version) const {
  const auto kept = kept_.find(local_rank);
  return kept != kept_.end() && std::any_of(kept->second.versions.begin(),
                                            kept->second.versions.end(), [&](const auto& other) {
                                              return other.step() == version.step() &&
                                                     other.attempt() == version.attempt();
                                            });
}

bool ReplicaStanding::Failed() { return std::exchange(streams_, false); }

v1alpha1::ReplicaReport ReplicaStanding::Report(int local_rank) const {
  v1alpha1::ReplicaReport report;
  report.set_streams(streams_);
  if (const auto kept = kept_.find(local_rank); kept != kept_.end()) {
    report.mutable_kept()->Add(kept->second.versions.begin(), kept->second.versions.end());
  }
  absl::Duration sending;
  for (const auto& [rank, replicas] : kept_) sending += replicas.sending;
  report.set_seconds(absl::ToDoubleSeconds(sending));
  return report;
}

}  // namespace muster::agent
