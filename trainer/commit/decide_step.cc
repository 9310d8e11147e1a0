#include "trainer/commit/decide_step.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

using v1alpha1::StepDecision;

enum class Outcome {
  kApply,
  kNoTokens,   // the step shows nothing about the weights
  kSpike,      // far above the steps before
  kNotFinite,  // the loss scale is too large, or the weights, or their data, are past saving
  kUpdateNotFinite,
};

LossScale ScaleAfter(Outcome outcome, const LossScale& before) {
  switch (outcome) {
    case Outcome::kApply:
    case Outcome::kSpike:
      return AfterGoodStep(before);
    case Outcome::kNotFinite:
      return AfterOverflow(before);
    case Outcome::kNoTokens:
    case Outcome::kUpdateNotFinite:
      return before;
  }
  return before;
}

void Count(Outcome outcome, const StepRules& rules, const PastSteps& before,
           StepDecision& decision) {
  const LossScale scale =
      rules.scales_loss ? ScaleAfter(outcome, before.loss_scale) : before.loss_scale;
  decision.set_loss_scale(scale.scale);
  decision.set_good_steps(scale.good_steps);
  const bool falls = scale.scale < before.loss_scale.scale;
  const bool counts =
      outcome == Outcome::kUpdateNotFinite || (outcome == Outcome::kNotFinite && !falls);
  SkippedSteps after = before.skipped;
  if (outcome == Outcome::kApply || outcome == Outcome::kSpike) after.in_row = 0;
  after.in_row += counts;
  after.total += counts;
  decision.set_skipped_in_row(after.in_row);
  decision.set_skipped_total(after.total);
  decision.set_too_many_skipped(
      counts && (after.in_row > rules.max_skipped_in_row || after.total > rules.max_skipped_total));
}

// A run whose rate were lowered without end would stand still, and look sound.
constexpr double kLeastRateFactor = 0.01;

// Judges a step with finite numbers, and counts it if it is a spike. Returns true if its update is
// to be left out.
bool SkipsSpike(const WatchRules& rules, const WatchedSteps& before, StepDecision& decision) {
  if (rules.response == SpikeResponse::kOff) return false;
  decision.set_spikes_in_row(0);
  decision.set_spike(WhySpike(before, decision.loss(), decision.gradient_norm(), rules.deviations));
  if (decision.spike().empty()) return false;
  decision.set_spikes_total(before.total + 1);
  const bool reports = rules.response == SpikeResponse::kReport;
  if (!reports && before.in_row >= rules.max_in_row) {
    absl::StrAppend(decision.mutable_spike(), "; it is applied, after ", before.in_row,
                    " in a row that were not");
    return false;
  }
  decision.set_spikes_in_row(before.in_row + 1);
  if (reports) return false;
  if (rules.response == SpikeResponse::kLowerRate) {
    decision.set_rate_factor(std::max(kLeastRateFactor, before.rate_factor * rules.rate_factor));
  }
  decision.set_skip_reason(decision.spike());
  return true;
}

Outcome DecideOutcome(const VoteTotals& totals, const StepRules& rules, const PastSteps& before,
                      StepDecision& decision) {
  const int64_t scale = before.loss_scale.scale;
  if (totals.valid_tokens <= 0.0) {
    decision.set_skip_reason("no valid token in the global batch");
    return Outcome::kNoTokens;
  }
  const double to_mean = static_cast<double>(rules.nominal_tokens) / totals.valid_tokens;
  const double norm = std::sqrt(totals.sum_of_squares) * to_mean / static_cast<double>(scale);
  decision.set_loss(totals.loss_sum / totals.valid_tokens);
  decision.set_gradient_norm(norm);
  if (!std::isfinite(norm) || !std::isfinite(decision.loss())) {
    decision.set_skip_reason("gradients or loss are not finite");
    if (rules.scales_loss) {
      absl::StrAppend(decision.mutable_skip_reason(), " at a loss scale of ", scale);
    }
    return Outcome::kNotFinite;
  }
  if (SkipsSpike(rules.watch, before.watched, decision)) return Outcome::kSpike;
  decision.set_apply(true);
  // Clips like PyTorch's clip_grad_norm_, with its 1e-6.
  if (rules.clip_norm > 0.0 && rules.clip_norm < norm + 1e-6) {
    decision.set_clip_factor(rules.clip_norm / (norm + 1e-6));
  }
  return Outcome::kApply;
}

}  // namespace

StepDecision DecideStep(const VoteTotals& totals, const StepRules& rules, const PastSteps& before,
                        const v1alpha1::Version& version, const v1alpha1::RoundId& round) {
  StepDecision decision;
  *decision.mutable_version() = version;
  decision.set_term(round.term());
  decision.set_round(round.round());
  decision.set_save_after(totals.save_requests > 0.0);
  decision.set_stop_after(totals.stop_requests > 0.0);
  decision.set_valid_tokens(static_cast<int64_t>(totals.valid_tokens));
  decision.set_clip_factor(1.0);
  decision.set_spikes_in_row(before.watched.in_row);
  decision.set_spikes_total(before.watched.total);
  decision.set_rate_factor(before.watched.rate_factor);
  const Outcome outcome = DecideOutcome(totals, rules, before, decision);
  Count(outcome, rules, before, decision);
  return decision;
}

StepDecision WithoutUpdate(const StepDecision& decision, const StepRules& rules,
                           const PastSteps& before) {
  StepDecision skipped = decision;
  skipped.set_apply(false);
  skipped.set_clip_factor(1.0);
  skipped.set_skip_reason("the update is not finite");
  Count(Outcome::kUpdateNotFinite, rules, before, skipped);
  return skipped;
}

PastSteps PastStepsAfter(const StepDecision& decision, const StepRules& rules,
                         const PastSteps& before) {
  PastSteps after{
      .skipped = {.in_row = decision.skipped_in_row(), .total = decision.skipped_total()},
      // A program that knew no loss scale left it out, and so for the rate's factor.
      .loss_scale = {.scale = std::max(decision.loss_scale(), kLeastLossScale),
                     .good_steps = decision.good_steps()},
      .watched = {.in_row = decision.spikes_in_row(),
                  .total = decision.spikes_total(),
                  .rate_factor = decision.rate_factor() > 0.0 ? decision.rate_factor() : 1.0}};
  if (rules.watch.response == SpikeResponse::kOff) return after;
  // A spike that is applied, and counts none in a row, shows that the level has changed.
  const bool at_new_level = !decision.spike().empty() && decision.spikes_in_row() == 0;
  if (!at_new_level) {
    after.watched.losses = before.watched.losses;
    after.watched.norms = before.watched.norms;
  }
  if (decision.apply()) after.watched.Add(decision.loss(), decision.gradient_norm());
  return after;
}

bool EndsBySpike(const StepDecision& decision, const StepRules& rules) {
  return rules.watch.response == SpikeResponse::kStop && !decision.apply() &&
         !decision.spike().empty();
}

std::string WhyTooManySkipped(const StepDecision& decision, const StepRules& rules) {
  const bool in_row = decision.skipped_in_row() > rules.max_skipped_in_row;
  const std::string last = absl::StrCat(" up to step ", decision.version().step(),
                                        " were skipped, the last one with loss ", decision.loss(),
                                        " and gradient norm ", decision.gradient_norm());
  if (in_row) {
    return absl::StrCat(decision.skipped_in_row(), " steps in a row", last,
                        ": train.skippedSteps.maxInRow allows ", rules.max_skipped_in_row);
  }
  return absl::StrCat(decision.skipped_total(), " steps of the run", last,
                      ": train.skippedSteps.maxTotal allows ", rules.max_skipped_total);
}

SaveChoice DecideSave(const SaveFacts& facts) {
  if (facts.last || (facts.stops && facts.ordered)) return SaveChoice::kAtEnd;
  if (!facts.due && !facts.ordered) return SaveChoice::kNone;
  return facts.writing ? SaveChoice::kHeldBack : SaveChoice::kNow;
}

}  // namespace muster::trainer
