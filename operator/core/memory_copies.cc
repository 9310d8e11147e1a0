#include "operator/core/memory_copies.h"

#include <map>
#include <utility>
#include <vector>

#include "base/checkpoint/checkpoint_history.h"
#include "operator/core/slice_span.h"

namespace muster::control {
namespace {

using v1alpha1::RankPosition;
using v1alpha1::StateCopy;
using v1alpha1::StateSlice;
using v1alpha1::Version;

bool IsWanted(const StateCopy& copy, const CopiesWanted& wanted) {
  return HistoryName(copy.history()) == HistoryName(wanted.history) &&
         copy.version().step() >= wanted.least_step &&
         copy.version().attempt() >= wanted.least_attempt;
}

bool IsWhole(Positions positions, const Version& target) {
  std::vector<SliceSpan> spans;
  for (const RankPosition& position : positions) {
    if (const auto slice = SliceOf(position, target)) spans.push_back(SpanOf(*slice));
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

}  // namespace muster::control
