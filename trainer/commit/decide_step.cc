#include "trainer/commit/decide_step.h"

#include <cmath>

namespace muster::trainer {

v1alpha1::StepDecision DecideStep(const VoteTotals& totals, const StepRules& rules,
                                  const v1alpha1::Version& version,
                                  const v1alpha1::RoundId& round) {
  v1alpha1::StepDecision decision;
  *decision.mutable_version() = version;
  decision.set_term(round.term());
  decision.set_round(round.round());
  decision.set_save_after(totals.save_requests > 0.0);
  decision.set_stop_after(totals.stop_requests > 0.0);
  decision.set_valid_tokens(static_cast<int64_t>(totals.valid_tokens));
  decision.set_clip_factor(1.0);
  if (totals.valid_tokens <= 0.0) {
    decision.set_skip_reason("no valid token in the global batch");
    return decision;
  }
  const double to_mean = static_cast<double>(rules.nominal_tokens) / totals.valid_tokens;
  const double norm = std::sqrt(totals.sum_of_squares) * to_mean;
  decision.set_loss(totals.loss_sum / totals.valid_tokens);
  decision.set_gradient_norm(norm);
  if (!std::isfinite(norm) || !std::isfinite(decision.loss())) {
    decision.set_skip_reason("gradients or loss are not finite");
    return decision;
  }
  decision.set_apply(true);
  // PyTorch's clip_grad_norm_, with its 1e-6.
  if (rules.clip_norm > 0.0 && rules.clip_norm < norm + 1e-6) {
    decision.set_clip_factor(rules.clip_norm / (norm + 1e-6));
  }
  return decision;
}

}  // namespace muster::trainer
