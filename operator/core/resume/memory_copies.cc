#include "operator/core/resume/memory_copies.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/checkpoint/checkpoint_history.h"
#include "operator/core/resume/slice_span.h"

namespace muster::control {
namespace {

using v1alpha1::RankPosition;
using v1alpha1::ReplicaSource;
using v1alpha1::StateCopy;
using v1alpha1::StateSlice;
using v1alpha1::Version;

bool IsWanted(const StateCopy& copy, const CopiesWanted& wanted) {
  return HistoryName(copy.history()) == HistoryName(wanted.history) &&
         copy.version().step() >= wanted.least_step &&
         copy.version().attempt() >= wanted.least_attempt;
}

std::vector<SliceSpan> SpansOfRanks(Positions positions, const Version& target) {
  std::vector<SliceSpan> spans;
  for (const RankPosition& position : positions) {
    if (const auto slice = SliceOf(position, target)) spans.push_back(SpanOf(*slice));
  }
  return spans;
}

bool IsWhole(Positions positions, const Version& target) {
  std::vector<SliceSpan> spans = SpansOfRanks(positions, target);
  for (const ReplicaSource& replica : ReplicasNeeded(positions, target)) {
    spans.push_back(SpanOf(replica.slice()));
  }
  return !FirstGap(std::move(spans));
}

}  // namespace

std::optional<Version> NewestCopied(Positions positions, const CopiesWanted& wanted) {
  std::map<std::pair<int64_t, int64_t>, Version> versions;
  for (const RankPosition& position : positions) {
    for (const StateCopy& copy : position.copies()) {
      if (IsWanted(copy, wanted)) versions.emplace(VersionOrder(copy.version()), copy.version());
    }
  }
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if (IsWhole(positions, version->second)) return version->second;
  }
  return std::nullopt;
}

std::optional<StateSlice> SliceOf(const RankPosition& position, const Version& target) {
  if (Holds(position, target)) return position.slice();
  for (const StateCopy& copy : position.copies()) {
    if (VersionOrder(copy.version()) == VersionOrder(target)) return copy.slice();
  }
  return std::nullopt;
}

std::vector<ReplicaSource> ReplicasNeeded(Positions positions, const Version& target) {
  if (!FirstGap(SpansOfRanks(positions, target))) return {};
  std::set<std::pair<int, int>> had;
  const auto is_new = [&had](const StateSlice& slice) {
    return had.emplace(slice.shard(), std::max(1, slice.shards())).second;
  };
  for (const RankPosition& position : positions) {
    if (const auto slice = SliceOf(position, target)) is_new(*slice);
  }
  std::vector<ReplicaSource> needed;
  for (int rank = 0; rank < static_cast<int>(positions.size()); ++rank) {
    const RankPosition& position = positions[rank];
    for (const auto* stored : {&position.copies(), &position.replicas()}) {
      for (const StateCopy& copy : *stored) {
        if (VersionOrder(copy.version()) != VersionOrder(target) || !is_new(copy.slice())) continue;
        ReplicaSource& source = needed.emplace_back();
        source.set_rank(rank);
        *source.mutable_slice() = copy.slice();
        source.set_bytes(copy.bytes());
      }
    }
  }
  return needed;
}

}  // namespace muster::control
