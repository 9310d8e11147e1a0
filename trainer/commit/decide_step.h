#ifndef MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
#define MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_

#include <cstdint>
#include <string>

#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/commit/loss_scale.h"
#include "trainer/commit/spike_watch.h"
#include "trainer/commit/step_messages.h"

namespace muster::trainer {

// Steps skipped because their loss, gradient or update was not finite. The counts are part of the
// state, so they go on after a resume and on ranks that receive it.
struct SkippedSteps {
  int64_t in_row = 0;  // up to the newest step with a valid token
  int64_t total = 0;   // in the whole run
  bool operator==(const SkippedSteps&) const = default;
};

// A run's memory of its steps; part of the state.
struct PastSteps {
  SkippedSteps skipped;
  LossScale loss_scale;  // for the next step
  WatchedSteps watched;
};

struct StepRules {
  int64_t nominal_tokens = 0;
  bool scales_loss = false;
  double clip_norm = 0.0;  // 0: gradients are not clipped
  // The run ends without success when more steps than this are skipped.
  int64_t max_skipped_in_row = INT64_MAX;
  int64_t max_skipped_total = INT64_MAX;
  WatchRules watch;
};

// Turns the summed vote into the decision that every rank carries out; equal totals and an equal
// past give an equal decision. Pure.
//
// Ranks compute the gradients of scale * loss sum / nominal tokens. The norm and the clip factor
// describe them after they were multiplied, once, by nominal / valid / scale.
//
// A step is skipped if it has no valid token, if its norm or loss is not finite, or if it is a
// spike and the rules say so. A step that is not finite lowers the loss scale. Only such steps
// count as skipped, and only when the scale cannot fall any further.
v1alpha1::StepDecision DecideStep(const VoteTotals& totals, const StepRules& rules,
                                  const PastSteps& before, const v1alpha1::Version& version,
                                  const v1alpha1::RoundId& round);

// Returns the decision to skip the step after all, because the update that it decided on is not
// finite. Its gradients are finite, so the loss scale stays.
v1alpha1::StepDecision WithoutUpdate(const v1alpha1::StepDecision& decision, const StepRules& rules,
                                     const PastSteps& before);

// Returns what a run remembers after a decision made by these rules and from this past.
PastSteps PastStepsAfter(const v1alpha1::StepDecision& decision, const StepRules& rules,
                         const PastSteps& before);

// Returns true if the run ends at this step without success, because it is a spike.
bool EndsBySpike(const v1alpha1::StepDecision& decision, const StepRules& rules);

// Explains to people, with the numbers, why a run ends at this decision with too_many_skipped.
std::string WhyTooManySkipped(const v1alpha1::StepDecision& decision, const StepRules& rules);

// The facts by which ranks decide whether they save after a step. All come from the vote or the
// settings, so they are the same on every rank.
struct SaveFacts {
  bool due = false;      // by the interval, in steps or in time
  bool ordered = false;  // some rank was told to save
  bool last = false;     // the run's last step
  bool stops = false;    // the ranks stop after the step
  bool writing = false;  // some rank still writes an earlier checkpoint
};

enum class SaveChoice {
  kNone,
  kNow,
  kHeldBack,  // not now, because training does not wait for slow storage
  kAtEnd,     // when the ranks stop; they wait until an earlier checkpoint is written
};

// Decides when to save. A rank writes one checkpoint at a time, so a save has to wait for an
// earlier one, for minutes if the storage fails. Only a save at the end may wait. Pure.
SaveChoice DecideSave(const SaveFacts& facts);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_DECIDE_STEP_H_
