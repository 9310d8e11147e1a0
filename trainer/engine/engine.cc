#include "trainer/engine/engine.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/status_macros.h"
#include "trainer/commit/decide_step.h"
#include "trainer/commit/vote_message.h"
#include "trainer/engine/table_check.h"
#include "trainer/engine/torch_errors.h"
#include "trainer/model/block.h"
#include "trainer/parallel/chunk_sums.h"
#include "trainer/parallel/unit.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

TableShape ShapeOf(TrainingState& state) {
  TableShape shape{.blocks = static_cast<int>(state.model().blocks.size()),
                   .optimizer_prepares = state.optimizer().has_prepare()};
  for (const Unit& unit : state.units()) shape.unit_users.push_back(unit.layout().users);
  for (const auto& block : state.model().blocks) {
    shape.can_split.push_back(block->can_split_backward());
  }
  return shape;
}

int64_t CountValid(const at::Tensor& labels) {
  const std::span<const int64_t> values(labels.const_data_ptr<int64_t>(),
                                        static_cast<size_t>(labels.numel()));
  return std::count_if(values.begin(), values.end(),
                       [](int64_t label) { return label != kIgnoredLabel; });
}

int64_t AllChunks(const std::vector<Unit>& units) {
  int64_t chunks = 0;
  for (const Unit& unit : units) chunks += unit.layout().chunks();
  return chunks;
}

// Returns the sums of squares of the chunks in `range`, numbered over all units.
std::vector<double> ChunkSquaresOf(const std::vector<Unit>& units, const TreeNode& range) {
  std::vector<double> out(static_cast<size_t>(range.leaves()));
  int64_t first = 0;
  for (const Unit& unit : units) {
    const int64_t chunks = unit.layout().chunks();
    const int64_t begin = std::clamp(range.begin - first, int64_t{0}, chunks);
    const int64_t end = std::clamp(range.end - first, int64_t{0}, chunks);
    if (begin < end) {
      const at::Tensor part =
          unit.gradients().narrow(0, begin * kChunkElements, (end - begin) * kChunkElements);
      const auto size = static_cast<size_t>(part.numel());
      const std::span<double> into = std::span(out).subspan(
          static_cast<size_t>(first + begin - range.begin), static_cast<size_t>(end - begin));
      if (part.scalar_type() == at::kDouble) {
        ChunkSquares(std::span(part.const_data_ptr<double>(), size), into);
      } else {
        ChunkSquares(std::span(part.const_data_ptr<float>(), size), into);
      }
    }
    first += chunks;
  }
  return out;
}

at::Tensor ToTensor(const std::vector<double>& values) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<double>());
  return tensor;
}

std::span<const double> AsSpan(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<double>(), static_cast<size_t>(tensor.numel())};
}

}  // namespace

Engine::Engine(TrainingState& state, BatchFeed& feed, PhaseTimer& timer,
               const std::atomic<bool>& interrupt)
    : state_(state), feed_(feed), timer_(timer), interrupt_(interrupt), runner_(state.model()) {}

absl::Status Engine::BeginAlone(Communicator& communicator) {
  MUSTER_RETURN_IF_ERROR(state_.commit().StartAlone({}, {}, /*attempt=*/1));
  return BeginRound(communicator);
}

absl::Status Engine::BeginRound(Communicator& communicator) {
  const TrainingOptions& options = state_.options();
  if (communicator.size() > options.micro_batches) {
    return absl::InvalidArgumentError(absl::StrCat(communicator.size(), " ranks for ",
                                                   options.micro_batches,
                                                   " micro-batches: a rank would have none"));
  }
  const TableShape shape = ShapeOf(state_);
  std::vector<TaskTable> tables;
  for (int r = 0; r < communicator.size(); ++r) {
    const TreeNode range = RankRange(options.micro_batches, r, communicator.size());
    tables.push_back(DataParallelTable(shape, static_cast<int>(range.leaves())));
  }
  MUSTER_RETURN_IF_ERROR(CheckTables(shape, tables).status());
  communicator_ = &communicator;
  runner_.set_loss_scale(1.0 / static_cast<double>(options.nominal_tokens()));
  micro_batches_ = RankRange(options.micro_batches, communicator.rank(), communicator.size());
  table_ = std::move(tables[static_cast<size_t>(communicator.rank())]);
  reducer_ = options.deterministic
                 ? MakeDeterministicReducer(state_.units(), communicator, options.micro_batches)
                 : MakeFastReducer(state_.units(), communicator);
  return absl::OkStatus();
}

void Engine::EndRound() {
  runner_.Begin({});
  reducer_.reset();
  communicator_ = nullptr;
}

absl::StatusOr<MicroBatchContext> Engine::Context(MicroBatch batch, int64_t step,
                                                  bool training) const {
  const TrainingOptions& options = state_.options();
  if (batch.tokens.dim() != 2 || batch.tokens.sizes() != batch.labels.sizes() ||
      batch.tokens.size(0) != static_cast<int64_t>(batch.samples.size())) {
    return absl::InternalError("the shapes of a micro-batch's tokens, labels and samples disagree");
  }
  return MicroBatchContext{
      .tokens = batch.tokens,
      .labels = batch.labels,
      .positions = at::arange(batch.tokens.size(1), at::kLong),
      .samples = std::move(batch.samples),
      .step = step,
      .seed = options.seed,
      .training = training,
      .compute_type = options.types.compute,
      .mesh = {.data = communicator_->rank()},
  };
}

absl::Status Engine::LoadStep(int64_t step) {
  std::vector<MicroBatchContext> contexts;
  valid_tokens_.clear();
  for (int64_t m = micro_batches_.begin; m < micro_batches_.end; ++m) {
    const PhaseScope data(timer_, Phase::kData);
    const MicroBatchPosition place = {.consumed = state_.counts().samples,
                                      .micro_batch = m,
                                      .micro_batches = state_.options().micro_batches};
    MUSTER_ASSIGN_OR_RETURN(MicroBatch batch, feed_.Training(place));
    valid_tokens_.push_back(static_cast<double>(CountValid(batch.labels)));
    MUSTER_ASSIGN_OR_RETURN(MicroBatchContext context, Context(std::move(batch), step, true));
    contexts.push_back(std::move(context));
  }
  runner_.Begin(std::move(contexts));
  reducer_->Begin();
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> Engine::Step(const StepRequests& requests) {
  if (communicator_ == nullptr) return absl::FailedPreconditionError("a step needs a round");
  MUSTER_RETURN_IF_ERROR(state_.commit().BeginStep());
  const PhaseScope compute(timer_, Phase::kCompute);
  StepOutcome outcome;
  outcome.learning_rate = state_.options().schedule.At(state_.commit().next().step());
  const int64_t step = state_.commit().next().step();
  MUSTER_RETURN_IF_ERROR(
      CatchTorch(absl::StrCat("loading step ", step), [&] { return LoadStep(step); }));
  for (const Task& task : table_) {
    if (interrupt_.load(std::memory_order_relaxed)) {
      return absl::AbortedError(absl::StrCat("interrupted before ", ToString(task)));
    }
    MUSTER_RETURN_IF_ERROR(CatchTorch(absl::StrCat(ToString(task), " of step ", step),
                                      [&] { return RunTask(task, requests, outcome); }));
  }
  return outcome;
}

absl::Status Engine::RunTask(const Task& task, const StepRequests& requests, StepOutcome& outcome) {
  switch (task.kind) {
    case TaskKind::kForward:
      return runner_.Forward(task.block, task.micro_batch);
    case TaskKind::kBackward:
      return Backward(task);
    case TaskKind::kReduce:
      reducer_->Reduce(task.unit);
      return absl::OkStatus();
    case TaskKind::kVote:
      MUSTER_RETURN_IF_ERROR(FinishReduce());
      MUSTER_RETURN_IF_ERROR(state_.Seal());
      return Vote(requests, outcome);
    case TaskKind::kApply: {
      MUSTER_RETURN_IF_ERROR(state_.Apply());
      MUSTER_FAILPOINT("trainer.after_apply");
      return absl::OkStatus();
    }
    case TaskKind::kBackwardInput:
    case TaskKind::kBackwardWeight:
    case TaskKind::kGather:
    case TaskKind::kSend:
    case TaskKind::kRecv:
    case TaskKind::kPrepare:
      break;
  }
  return absl::UnimplementedError(absl::StrCat("this engine cannot run ", ToString(task)));
}

absl::Status Engine::Backward(const Task& task) {
  MUSTER_RETURN_IF_ERROR(runner_.Backward(task.block, task.micro_batch));
  for (size_t u = 0; u < state_.units().size(); ++u) {
    if (state_.units()[u].layout().users.front() != task.block) continue;
    reducer_->MicroBatchDone(static_cast<int>(u), task.micro_batch);
  }
  return absl::OkStatus();
}

absl::Status Engine::FinishReduce() {
  {
    const PhaseScope communication(timer_, Phase::kCommunication);
    MUSTER_RETURN_IF_ERROR(reducer_->Finish());
  }
  for (const Unit& unit : state_.units()) MUSTER_RETURN_IF_ERROR(unit.CheckViews());
  return absl::OkStatus();
}

absl::Status Engine::Vote(const StepRequests& requests, StepOutcome& outcome) {
  const TrainingOptions& options = state_.options();
  const int64_t chunks = AllChunks(state_.units());
  const TreeNode mine = RankRange(chunks, communicator_->rank(), communicator_->size());
  const std::vector<double> squares = ChunkSquaresOf(state_.units(), mine);
  std::vector<double> losses;
  for (int64_t m = 0; m < micro_batches_.leaves(); ++m) {
    losses.push_back(runner_.loss(static_cast<int>(m)));
  }
  const VoteContribution share{.version = state_.commit().next(),
                               .trajectory = options.trajectory,
                               .first_micro_batch = micro_batches_.begin,
                               .losses = losses,
                               .valid_tokens = valid_tokens_,
                               .first_chunk = mine.begin,
                               .chunk_squares = squares,
                               .save = requests.save,
                               .stop = requests.stop};
  // The all-reduce destroys its input when it breaks off; `share` stays.
  at::Tensor message =
      ToTensor(EncodeVote(share, options.deterministic, options.micro_batches, chunks));
  MUSTER_FAILPOINT("trainer.before_vote");
  {
    const PhaseScope communication(timer_, Phase::kCommunication);
    auto pending = communicator_->AllReduce(message, ReduceOp::kSum, "vote");
    MUSTER_RETURN_IF_ERROR(state_.commit().VoteSent());
    MUSTER_FAILPOINT("trainer.after_vote_sent");
    MUSTER_RETURN_IF_ERROR(pending->Wait());
  }
  MUSTER_FAILPOINT("trainer.after_vote");
  MUSTER_RETURN_IF_ERROR(
      CheckVersions(AsSpan(message), state_.commit().next(), communicator_->size()));
  MUSTER_RETURN_IF_ERROR(
      CheckTrajectories(AsSpan(message), options.trajectory, communicator_->size()));
  const VoteTotals totals =
      DecodeVote(AsSpan(message), options.deterministic, options.micro_batches, chunks);
  outcome.decision = DecideStep(totals, RulesOf(options), state_.counts().skipped,
                                state_.commit().next(), state_.commit().round());
  return state_.commit().Decide(outcome.decision);
}

absl::StatusOr<double> Engine::Validate(int batches) {
  double loss = 0.0;
  MUSTER_RETURN_IF_ERROR(CatchTorch("validation", [&] { return ValidateOrThrow(batches, loss); }));
  return loss;
}

absl::Status Engine::ValidateOrThrow(int batches, double& loss) {
  // Each batch has a place of its own, filled by one rank, so the sum does not depend on the world
  // size.
  const PhaseScope compute(timer_, Phase::kOther);
  std::vector<double> message(2 * static_cast<size_t>(batches), 0.0);
  for (int b = communicator_->rank(); b < batches; b += communicator_->size()) {
    if (interrupt_.load(std::memory_order_relaxed)) {
      return absl::AbortedError("interrupted in validation");
    }
    MUSTER_ASSIGN_OR_RETURN(MicroBatch batch, feed_.Validation(b));
    message[2 * b + 1] = static_cast<double>(CountValid(batch.labels));
    MUSTER_ASSIGN_OR_RETURN(const MicroBatchContext context,
                            Context(std::move(batch), state_.applied()->step(), false));
    MUSTER_ASSIGN_OR_RETURN(message[2 * b], runner_.Evaluate(context));
  }
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

absl::Status Engine::ComputeGradients() {
  MUSTER_RETURN_IF_ERROR(LoadStep(state_.commit().next().step()));
  for (const Task& task : table_) {
    if (task.kind == TaskKind::kVote) return FinishReduce();
    StepOutcome unused;
    MUSTER_RETURN_IF_ERROR(RunTask(task, {}, unused));
  }
  return absl::InternalError("the table has no vote");
}

double Engine::loss_sum() const {
  double sum = 0.0;
  for (int m = 0; m < static_cast<int>(micro_batches_.leaves()); ++m) sum += runner_.loss(m);
  return sum;
}

}  // namespace muster::trainer
