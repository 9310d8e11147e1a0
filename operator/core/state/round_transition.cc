#include "operator/core/state/round_transition.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

struct Row {
  RoundPhase from;
  RoundEvent event;
  RoundPhase to;
};

constexpr Row kTable[] = {
    {RoundPhase::kIdle, RoundEvent::kOpen, RoundPhase::kPreparing},
    {RoundPhase::kIdle, RoundEvent::kAdopt, RoundPhase::kActive},
    {RoundPhase::kIdle, RoundEvent::kBreak, RoundPhase::kHolding},
    {RoundPhase::kPreparing, RoundEvent::kAllReady, RoundPhase::kJoining},
    {RoundPhase::kPreparing, RoundEvent::kBreak, RoundPhase::kHolding},
    {RoundPhase::kJoining, RoundEvent::kAllJoined, RoundPhase::kActive},
    {RoundPhase::kJoining, RoundEvent::kBreak, RoundPhase::kHolding},
    {RoundPhase::kActive, RoundEvent::kBreak, RoundPhase::kHolding},
    {RoundPhase::kHolding, RoundEvent::kOpen, RoundPhase::kPreparing},
};

}  // namespace

absl::string_view Name(RoundPhase phase) {
  switch (phase) {
    case RoundPhase::kIdle:
      return "Idle";
    case RoundPhase::kPreparing:
      return "Preparing";
    case RoundPhase::kJoining:
      return "Joining";
    case RoundPhase::kActive:
      return "Active";
    case RoundPhase::kHolding:
      return "Holding";
  }
  return "";
}

absl::string_view Name(RoundEvent event) {
  switch (event) {
    case RoundEvent::kOpen:
      return "Open";
    case RoundEvent::kAllReady:
      return "AllReady";
    case RoundEvent::kAllJoined:
      return "AllJoined";
    case RoundEvent::kAdopt:
      return "Adopt";
    case RoundEvent::kBreak:
      return "Break";
    case RoundEvent::kReset:
      return "Reset";
  }
  return "";
}

std::vector<RoundPhase> AllRoundPhases() {
  return {RoundPhase::kIdle, RoundPhase::kPreparing, RoundPhase::kJoining, RoundPhase::kActive,
          RoundPhase::kHolding};
}

std::vector<RoundEvent> AllRoundEvents() {
  return {RoundEvent::kOpen,  RoundEvent::kAllReady, RoundEvent::kAllJoined,
          RoundEvent::kAdopt, RoundEvent::kBreak,    RoundEvent::kReset};
}

absl::StatusOr<RoundPhase> Transition(RoundPhase phase, RoundEvent event) {
  if (event == RoundEvent::kReset) return RoundPhase::kIdle;
  for (const Row& row : kTable) {
    if (row.from == phase && row.event == event) return row.to;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("a round that is ", Name(phase), " cannot ", Name(event)));
}

}  // namespace muster::control
