#ifndef MUSTER_OPERATOR_CORE_TESTING_RANK_POSITIONS_H_
#define MUSTER_OPERATOR_CORE_TESTING_RANK_POSITIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/core/resume/resume.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

// Short ways to write what ranks hold, for tests of DecideResume().
namespace muster::control {

using v1alpha1::RankPosition;
using v1alpha1::Version;

inline Version V(int64_t step, int64_t attempt) {
  Version version;
  version.set_step(step);
  version.set_attempt(attempt);
  return version;
}

inline std::pair<int64_t, int64_t> Order(const Version& version) {
  return {version.attempt(), version.step()};
}

inline RankPosition At(std::optional<Version> applied, std::optional<Version> sealed = std::nullopt,
                       std::vector<Version> decisions = {}) {
  RankPosition position;
  if (applied) *position.mutable_applied() = *applied;
  if (sealed) *position.mutable_sealed() = *sealed;
  for (const Version& version : decisions) {
    auto* decision = position.add_decisions();
    *decision->mutable_version() = version;
    decision->set_apply(true);
    decision->set_clip_factor(0.5);
  }
  return position;
}

inline RankPosition WithCheckpoints(RankPosition position, std::vector<Version> versions) {
  for (const Version& version : versions) {
    auto* ref = position.add_checkpoints();
    ref->set_directory("step-" + std::to_string(version.step()));
    *ref->mutable_version() = version;
  }
  return position;
}

inline std::vector<int> Receivers(const ResumeDecision& decision) {
  return {decision.point.receivers().begin(), decision.point.receivers().end()};
}

inline RankPosition Shard(int shard, int shards, RankPosition position) {
  position.mutable_slice()->set_shard(shard);
  position.mutable_slice()->set_shards(shards);
  return position;
}

inline std::vector<std::pair<int, int>> Slices(const ResumeDecision& decision) {
  std::vector<std::pair<int, int>> out;
  for (const v1alpha1::StateSlice& slice : decision.point.slices()) {
    out.emplace_back(slice.shard(), slice.shards());
  }
  return out;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_TESTING_RANK_POSITIONS_H_
