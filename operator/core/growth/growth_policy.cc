#include "operator/core/growth/growth_policy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/growth_sizes.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

constexpr std::pair<GrowthReason, absl::string_view> kNames[] = {
    {GrowthReason::kNoCapacity, "NoCapacity"},
    {GrowthReason::kGrowing, "Growing"},
    {GrowthReason::kAtMaximum, "AtMaximum"},
    {GrowthReason::kNoLargerSize, "NoLargerSize"},
    {GrowthReason::kNotAllWorkers, "NotAllWorkers"},
    {GrowthReason::kUnderused, "Underused"},
    {GrowthReason::kTakenByQueue, "TakenByQueue"},
    {GrowthReason::kSnoozed, "Snoozed"},
    {GrowthReason::kMeasuringSpeed, "MeasuringSpeed"},
    {GrowthReason::kGainTooSmall, "GainTooSmall"},
    {GrowthReason::kNoCheckpoint, "NoCheckpoint"},
};

// A growth is undone by another resize one day.
constexpr int kPauses = 2;
// The gain of a size that was not wanted before, as a multiple of the cost, so that a speed that
// varies does not change the wish back and forth.
constexpr double kNewlyWanted = 1.5;

bool IsWorthIt(const GrowthView& view, int size) {
  const double now = RelativeStepTime(*view.spec, view.size);
  const double then = RelativeStepTime(*view.spec, size);
  const absl::Duration saved = (view.left - view.start_up) * (1 - then / now);
  const bool wanted = size >= view.least_before && size <= view.wanted_before;
  return saved > view.pause * (kPauses * (wanted ? 1 : kNewlyWanted));
}

GrowthWish Refuse(GrowthReason reason, std::string sentence) {
  GrowthWish wish;
  wish.reason = reason;
  wish.sentence = std::move(sentence);
  return wish;
}

// Returns the wish of a job that cannot want more, whatever it would gain.
std::optional<GrowthWish> CannotGrow(absl::Time now, const GrowthView& view,
                                     const std::vector<int>& larger) {
  const int max = MaxWorkers(*view.spec);
  if (view.kept > 0) {
    return Refuse(GrowthReason::kUnderused,
                  "more workers are expected to be used less than elastic.utilisation.below");
  }
  if (view.taken_by_queue) {
    return Refuse(GrowthReason::kTakenByQueue,
                  "its queue has taken workers, which the job gets back first");
  }
  if (view.granted > view.size) {
    return Refuse(GrowthReason::kGrowing,
                  absl::StrCat("it grows to ", view.granted, " workers, which are starting"));
  }
  if (view.size >= max) {
    return Refuse(GrowthReason::kAtMaximum, absl::StrCat("workers.max is ", max));
  }
  if (larger.empty() || larger.back() <= view.size) {
    return Refuse(GrowthReason::kNoLargerSize,
                  absl::StrCat("no number of workers up to workers.max, ", max,
                               ", is a multiple that its layout allows and shortens a step"));
  }
  if (now < view.snoozed_until) {
    GrowthWish wish = Refuse(GrowthReason::kSnoozed,
                             absl::StrCat("its size has changed, or could not be changed, lately: "
                                          "it does not grow before ",
                                          FormatWall(view.snoozed_until_wall)));
    wish.recheck = view.snoozed_until;
    return wish;
  }
  if (!view.training) {
    return Refuse(GrowthReason::kNotAllWorkers,
                  "it grows only while all workers that it has are training");
  }
  if (!view.can_go_on) {
    return Refuse(GrowthReason::kNoCheckpoint,
                  "its command has not reported a checkpoint, and would begin anew with more "
                  "workers");
  }
  // Written so that a time that is no number counts as not known.
  if (!(view.left > absl::ZeroDuration()) || view.left == absl::InfiniteDuration()) {
    return Refuse(GrowthReason::kMeasuringSpeed,
                  view.spec->has_trainer()
                      ? "the time that a step takes is not known yet"
                      : "its command has not reported yet how many steps it has, or how long they "
                        "take");
  }
  return std::nullopt;
}

}  // namespace

absl::string_view Name(GrowthReason reason) {
  for (const auto& [known, name] : kNames) {
    if (known == reason) return name;
  }
  return "";
}

std::vector<GrowthReason> AllGrowthReasons() {
  std::vector<GrowthReason> reasons;
  for (const auto& [reason, name] : kNames) reasons.push_back(reason);
  return reasons;
}

GrowthWish WishToGrow(absl::Time now, const GrowthView& view) {
  const std::vector<int> larger = LargerSizes(*view.spec);
  if (auto wish = CannotGrow(now, view, larger)) return *std::move(wish);
  GrowthWish wish;
  for (const int size : larger) {
    if (size <= view.size || !IsWorthIt(view, size)) continue;
    if (wish.least == 0) wish.least = size;
    wish.wanted = size;
  }
  if (wish.wanted == 0) {
    return Refuse(GrowthReason::kGainTooSmall,
                  "the time that more workers would save until the end is not worth the pause");
  }
  wish.reason = GrowthReason::kNoCapacity;
  wish.sentence = absl::StrCat("it would grow to ", wish.wanted,
                               " workers if there were capacity that no other job waits for");
  return wish;
}

}  // namespace muster::control
