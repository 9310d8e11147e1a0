#include "operator/core/state/leave_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

// Saves differ from one to the next by what else uses the storage.
constexpr double kSaveMargin = 1.25;
// The shares of the time that is left: the most that is kept for the change of rounds, and what a
// save of unknown length gets.
constexpr double kMostChange = 0.5;
constexpr double kUnknownSave = 0.5;

// Returns why no checkpoint is saved.
std::string WhyNoSave(const LeaveFacts& facts) {
  if (facts.left <= absl::ZeroDuration()) return "the deadline has passed";
  if (!facts.may_save) return "no checkpoint can be saved now";
  return absl::StrCat("a checkpoint takes ", TenthsText(*facts.save), ", and only ",
                      TenthsText(facts.left), " are left");
}

}  // namespace

std::string_view Name(LeavePlan plan) {
  switch (plan) {
    case LeavePlan::kSave:
      return "Save";
    case LeavePlan::kHandOver:
      return "HandOver";
    case LeavePlan::kLeave:
      return "Leave";
  }
  return "";
}

std::string TenthsText(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Milliseconds(100)));
}

LeaveChoice ChooseLeavePlan(const LeaveFacts& facts) {
  const bool may_save = facts.may_save && facts.left > absl::ZeroDuration();
  if (may_save && !facts.save) {
    return {LeavePlan::kSave, facts.left * kUnknownSave,
            absl::StrCat("no checkpoint has been timed yet, so it gets half of the ",
                         TenthsText(facts.left), " that are left")};
  }
  const absl::Duration latest = facts.left - std::min(facts.change, facts.left * kMostChange);
  if (may_save && *facts.save * kSaveMargin <= latest) {
    return {LeavePlan::kSave, latest,
            absl::StrCat("a checkpoint takes ", TenthsText(*facts.save), ", and ",
                         TenthsText(facts.left), " are left")};
  }
  if (facts.others_hold_all) {
    return {LeavePlan::kHandOver, absl::ZeroDuration(),
            absl::StrCat(WhyNoSave(facts), "; the workers that stay hold all of the state")};
  }
  return {LeavePlan::kLeave, absl::ZeroDuration(), WhyNoSave(facts)};
}

}  // namespace muster::control
