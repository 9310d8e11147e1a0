// The part of the engine that evaluates without training.

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "trainer/engine/link/message_tensor.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/engine/step/engine.h"
#include "trainer/model/block.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {

absl::StatusOr<double> Engine::Validate(int batches) {
  double loss = 0.0;
  MUSTER_RETURN_IF_ERROR(CatchTorch("validation", [&] { return ValidateOrThrow(batches, loss); }));
  return loss;
}

// A rank without a micro-batch takes part in gathering the values for the others.
absl::Status Engine::Evaluate(std::vector<MicroBatchContext> contexts) {
  const bool idle = contexts.empty();
  runner_.Begin(std::move(contexts));
  for (const Task& task : evaluation_) {
    if (interrupt_.load(std::memory_order_relaxed)) {
      return absl::AbortedError("interrupted in validation");
    }
    if (idle && task.kind == TaskKind::kForward) continue;
    StepOutcome unused;
    MUSTER_RETURN_IF_ERROR(RunTask(task, {}, unused));
  }
  return absl::OkStatus();
}

absl::Status Engine::ValidateOrThrow(int batches, double& loss) {
  // Each batch has a place of its own, filled by one rank, so the sum does not depend on the world
  // size.
  const PhaseScope compute(timer_, Phase::kOther);
  casts_->ForgetAll();
  std::vector<double> message(2 * static_cast<size_t>(batches), 0.0);
  for (int first = 0; first < batches; first += communicator_->size()) {
    const int b = first + communicator_->rank();
    std::vector<MicroBatchContext> contexts;
    if (b < batches) {
      MUSTER_ASSIGN_OR_RETURN(MicroBatch batch, feed_.Validation(b));
      message[2 * b + 1] = static_cast<double>(CountValid(batch.labels));
      MUSTER_ASSIGN_OR_RETURN(MicroBatchContext context,
                              Context(std::move(batch), state_.applied()->step(), false));
      contexts.push_back(std::move(context));
    }
    MUSTER_RETURN_IF_ERROR(Evaluate(std::move(contexts)));
    if (b < batches) message[2 * b] = runner_.losses(1)[0];
  }
  casts_->ForgetAll();
  at::Tensor tensor = ToTensor(message);
  MUSTER_RETURN_IF_ERROR(communicator_->AllReduce(tensor, ReduceOp::kSum, "validation")->Wait());
  std::vector<double> losses;
  double tokens = 0.0;
  for (int b = 0; b < batches; ++b) {
    losses.push_back(AsSpan(tensor)[2 * b]);
    tokens += AsSpan(tensor)[2 * b + 1];
  }
  if (tokens == 0.0) return absl::FailedPreconditionError("validation data has no valid token");
  loss = TreeSum(losses) / tokens;
  return absl::OkStatus();
}

}  // namespace muster::trainer
