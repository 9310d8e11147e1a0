#include "trainer/engine/step/engine.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/status_macros.h"
#include "planner/activations.h"
#include "trainer/commit/decide_step.h"
#include "trainer/commit/step_messages.h"
#include "trainer/commit/version.h"
#include "trainer/engine/link/message_tensor.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/engine/step/chunk_share.h"
#include "trainer/engine/step/device_memory.h"
#include "trainer/engine/step/slice_gather.h"
#include "trainer/engine/table/table_check.h"
#include "trainer/engine/table/task_table.h"
#include "trainer/model/block.h"
#include "trainer/model/partition.h"
#include "trainer/model/sequence_order.h"
#include "trainer/offload/host_copy.h"
#include "trainer/parallel/flat_memory.h"
#include "trainer/parallel/sum_tree.h"
#include "trainer/parallel/unit.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

// A gradient that is put off keeps the whole inputs of its products. So a block that saves less
// than these has its backward pass at once.
bool MaySplitBackward(const TrainingState& state, int block) {
  const auto& blocks = state.model().blocks;
  const auto count = static_cast<int64_t>(blocks.size());
  const planner::ActivationOptions& activations = state.options().activations;
  return blocks[static_cast<size_t>(block)]->can_split_backward() &&
         !planner::IsRecomputed(activations, block, count) &&
         !planner::IsPacked(activations, block, count);
}

TableShape ShapeOf(TrainingState& state) {
  TableShape shape{.blocks = static_cast<int>(state.model().blocks.size()),
                   .cut = state.cut(),
                   .optimizer_prepares = state.optimizer().has_prepare(),
                   .divided = !state.shard().whole()};
  for (const Unit& unit : state.units()) {
    shape.unit_users.push_back(unit.layout().users);
    shape.gradients_divided |= unit.divides_gradients();
    shape.values_divided |= unit.divides_values();
  }
  shape.one_at_a_time = state.options().deterministic;
  for (int b = 0; b < shape.blocks; ++b) {
    shape.can_split.push_back(MaySplitBackward(state, b));
  }
  return shape;
}

bool IsFirstUser(const Unit& unit, int block) {
  const std::vector<int>& users = unit.layout().own_users;
  return !users.empty() && users.front() == block;
}

bool IsLastUser(const Unit& unit, int block) {
  const std::vector<int>& users = unit.layout().own_users;
  return !users.empty() && users.back() == block;
}

std::optional<uint64_t> HashOfTuning(const StepRequests& requests) {
  if (!requests.tuning.has_value()) return std::nullopt;
  return HashOf(*requests.tuning);
}

int64_t AllChunks(const std::vector<Unit>& units) {
  int64_t chunks = 0;
  for (const Unit& unit : units) chunks += unit.layout().all_chunks();
  return chunks;
}

}  // namespace

Engine::Engine(TrainingState& state, BatchFeed& feed, PhaseTimer& timer,
               const std::atomic<bool>& interrupt)
    : state_(state),
      feed_(feed),
      timer_(timer),
      interrupt_(interrupt),
      runner_(state.model()),
      casts_(c10::make_intrusive<WeightCasts>()) {}

absl::Status Engine::BeginAlone(const RoundGroups& groups) {
  MUSTER_RETURN_IF_ERROR(state_.commit().StartAlone({}, {}, /*attempt=*/1));
  return BeginRound(groups);
}

std::unique_ptr<GradientReducer> Engine::MakeReducer(int rounds) {
  const TrainingOptions& options = state_.options();
  if (options.deterministic) {
    return MakeDeterministicReducer(state_.units(), groups_, options.micro_batches);
  }
  const SentGradients sent = {options.communication.gradients, options.seed, communicator_->rank()};
  return groups_.shard == nullptr ? MakeFastReducer(state_.units(), groups_, sent)
                                  : MakeShardedReducer(state_.units(), groups_, sent, rounds);
}

absl::Status Engine::BeginRound(const RoundGroups& groups) {
  const TrainingOptions& options = state_.options();
  Communicator& communicator = *groups.world;
  const Shard shard =
      groups.shard == nullptr ? Shard{} : Shard{groups.shard->rank(), groups.shard->size()};
  if (!(shard == state_.shard())) {
    return absl::InternalError(absl::StrCat("the round needs shard ", shard.index, " of ",
                                            shard.count, " of the state, and this rank holds ",
                                            state_.shard().index, " of ", state_.shard().count));
  }
  if (!state_.Holds(shard)) {
    return absl::InternalError("this rank has not divided its state as the options say");
  }
  const TableShape shape = ShapeOf(state_);
  const MeshShape mesh = ShapeOf(groups);
  const MeshCoordinates place = mesh.CoordinatesOf(communicator.rank());
  if (const ModelPart part = {place.tensor, mesh.tensor}; !(part == state_.part())) {
    return absl::InternalError(absl::StrCat("the round needs part ", part.index, " of ", part.count,
                                            " of the model, and this rank holds ",
                                            state_.part().index, " of ", state_.part().count));
  }
  if (place.pipeline != state_.stage() || mesh.pipeline != state_.cut().stages()) {
    return absl::InternalError(absl::StrCat("the round needs stage ", place.pipeline, " of ",
                                            mesh.pipeline, " of the model, and this rank holds ",
                                            state_.stage(), " of ", state_.cut().stages()));
  }
  MUSTER_RETURN_IF_ERROR(CheckDivision(mesh));
  MUSTER_ASSIGN_OR_RETURN(LayoutTables tables, MakeTables(shape, mesh, options.micro_batches,
                                                          options.pipeline_schedule));
  MUSTER_RETURN_IF_ERROR(CheckTables(shape, tables.distinct).status());
  communicator_ = &communicator;
  groups_ = groups;
  TakeBusySeconds();
  device_bytes_ = MemoryOfDevice(options.device);
  values_ =
      shard.whole() && !shape.values_divided
          ? nullptr
          : std::make_unique<UnitValues>(state_.units(), groups.shard, *state_.rests().weights,
                                         options.communication.weights);
  runner_.set_activations(options.activations);
  micro_batches_ =
      RankRange(options.micro_batches, mesh.WorkerOf(communicator.rank()), mesh.workers());
  has_losses_ = place.pipeline == state_.cut().StageOf(shape.blocks - 1);
  counts_losses_ = has_losses_ && place.tensor == 0 && place.context == 0;
  positions_ = all_positions_ = at::Tensor();
  link_ = groups.stages == nullptr
              ? nullptr
              : std::make_unique<StageLink>(*groups.stages, options.device, groups.channels);
  const int table = tables.of_rank[static_cast<size_t>(communicator.rank())];
  table_ = std::move(tables.distinct[static_cast<size_t>(table)]);
  // Blocks that are computed again do not split, and still add their gradients as the others do.
  splits_backward_ = SplitsBackward(shape, options.pipeline_schedule);
  evaluation_ = EvaluationTable(shape, {.stage = place.pipeline});
  reducer_ = MakeReducer(MostMicroBatches(mesh, options.micro_batches));
  return absl::OkStatus();
}

absl::Status Engine::CheckDivision(const MeshShape& mesh) const {
  const TrainingOptions& options = state_.options();
  const int64_t multiple = SequenceMultiple(options.context_exchange, mesh.context) * mesh.tensor;
  if (options.sequence % multiple != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "train.sequence ", options.sequence, " must be a multiple of ", multiple,
        ", because ranks divide it along context ", mesh.context, " and tensor ", mesh.tensor));
  }
  for (const auto& block : state_.model().blocks) {
    if (mesh.context * mesh.tensor == 1 || block->divides_sequence()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("block ", block->name(), " does not say how ranks divide a sequence: context ",
                     "and tensor must be 1"));
  }
  return absl::OkStatus();
}

void Engine::EndRound() {
  runner_.Begin({});
  casts_->ForgetAll();
  reducer_.reset();
  link_.reset();
  values_.reset();
  ReleaseUnits();
  communicator_ = nullptr;
  groups_ = {};
}

// Frees what a step or a move of slices that broke off has left of divided units as a whole, and of
// state that rests elsewhere.
void Engine::ReleaseUnits() {
  state_.rests().Discard();
  for (const Unit& unit : state_.units()) {
    unit.ReleaseValues();
    unit.ReleaseGradients();
  }
  FreeKeptMemory();
}

absl::StatusOr<MicroBatchContext> Engine::Context(MicroBatch batch, int64_t step, bool training) {
  const TrainingOptions& options = state_.options();
  if (batch.tokens.dim() != 2 || batch.tokens.sizes() != batch.labels.sizes() ||
      batch.tokens.size(0) != static_cast<int64_t>(batch.samples.size())) {
    return absl::InternalError("the shapes of a micro-batch's tokens, labels and samples disagree");
  }
  SetPositions(batch.tokens.size(1));
  if (const Communicator* const ranks = groups_.axes.context; ranks != nullptr) {
    const at::Tensor own = positions_.cpu();
    batch.tokens = batch.tokens.index_select(1, own);
    batch.labels = batch.labels.index_select(1, own);
  }
  return MicroBatchContext{
      .tokens = ToDevice(batch.tokens, options.device),
      .labels = ToDevice(batch.labels, options.device),
      .positions = positions_,
      .all_positions = all_positions_,
      .exchange = options.context_exchange,
      .samples = std::move(batch.samples),
      .step = step,
      .seed = options.seed,
      .training = training,
      .compute_type = options.types.compute,
      .fp8 = options.types.fp8,
      .casts = casts_,
      .mesh = ShapeOf(groups_).CoordinatesOf(communicator_->rank()),
      .axes = groups_.axes,
  };
}

// Sets positions_ to this rank's positions in sequences of `sequence` tokens. With a context axis
// also sets all_positions_. If the length is the same as before, keeps the tensors, so that tables
// made for them find them equal without a comparison on the device. SequenceMultiple() must divide
// the length.
void Engine::SetPositions(int64_t sequence) {
  const Communicator* const ranks = groups_.axes.context;
  const at::Tensor& known = ranks == nullptr ? positions_ : all_positions_;
  if (known.defined() && known.size(0) == sequence) return;
  const TrainingOptions& options = state_.options();
  const at::Tensor whole = at::arange(sequence, at::TensorOptions(options.device).dtype(at::kLong));
  positions_ = whole;
  if (ranks == nullptr) return;
  std::vector<at::Tensor> runs;
  for (int rank = 0; rank < ranks->size(); ++rank) {
    for (const auto& run :
         RunsOfSequence(options.context_exchange, rank, ranks->size(), sequence)) {
      runs.push_back(whole.narrow(0, run.begin, run.count));
    }
  }
  all_positions_ = at::cat(runs);
  const int64_t own = sequence / ranks->size();
  positions_ = all_positions_.narrow(0, ranks->rank() * own, own);
}

// Returns the losses of this rank's micro-batches, FP64 on the host. Every rank of a tensor group
// has the loss of the same tokens. A rank of a context group has the loss of its own tokens only.
// The group's losses are added in the order of ranks, so that the sum has the same bits for any
// number of groups. All ranks of a context group call this together.
absl::StatusOr<at::Tensor> Engine::SumLosses(const at::Tensor& on_device) const {
  const at::Tensor own = on_device.cpu();
  Communicator* const ranks = groups_.axes.context;
  if (ranks == nullptr || own.numel() == 0) return own;
  const at::Tensor all = at::empty({ranks->size(), own.numel()}, own.options());
  MUSTER_RETURN_IF_ERROR(ranks->AllGather(all.view({-1}), own, "losses")->Wait());
  at::Tensor sum = all[0].clone();
  for (int r = 1; r < ranks->size(); ++r) sum.add_(all[r]);
  return sum;
}

double Engine::LossScaleOfStep() const {
  return static_cast<double>(state_.counts().loss_scale.scale);
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
  // A step that broke off has left some, and state may have been loaded since.
  casts_->ForgetAll();
  runner_.Begin(std::move(contexts));
  runner_.set_loss_scale(LossScaleOfStep() /
                         static_cast<double>(state_.options().nominal_tokens()));
  if (splits_backward_) runner_.SplitBackward();
  reducer_->Begin(step);
  return absl::OkStatus();
}

absl::StatusOr<StepOutcome> Engine::Step(const StepRequests& requests) {
  if (communicator_ == nullptr) return absl::FailedPreconditionError("a step needs a round");
  MUSTER_RETURN_IF_ERROR(state_.commit().BeginStep());
  const PhaseScope compute(timer_, Phase::kCompute);
  StepOutcome outcome;
  outcome.learning_rate = state_.LearningRateOf(state_.commit().next().step());
  const v1alpha1::Version version = state_.commit().next();
  const absl::Status ran = RunTable(requests, outcome);
  const bool applied = state_.applied() && Same(*state_.applied(), version);
  if (!ran.ok() && !applied) return ran;
  outcome.after = ran;
  return outcome;
}

absl::Status Engine::RunTable(const StepRequests& requests, StepOutcome& outcome) {
  const int64_t step = state_.commit().next().step();
  const auto run = [&](const std::string& what, auto&& part) {
    return ExplainNoMemory(CatchTorch(what, part), state_);
  };
  MUSTER_RETURN_IF_ERROR(run(absl::StrCat("loading step ", step), [&] { return LoadStep(step); }));
  for (const Task& task : table_) {
    if (interrupt_.load(std::memory_order_relaxed)) {
      return absl::AbortedError(absl::StrCat("interrupted before ", ToString(task)));
    }
    MUSTER_RETURN_IF_ERROR(run(absl::StrCat(ToString(task), " of step ", step),
                               [&] { return RunTask(task, requests, outcome); }));
  }
  if (values_ == nullptr) return absl::OkStatus();
  const PhaseScope communication(timer_, Phase::kCommunication);
  return values_->AwaitAll();
}

absl::Status Engine::RunTask(const Task& task, const StepRequests& requests, StepOutcome& outcome) {
  switch (task.kind) {
    case TaskKind::kForward:
      return Forward(task);
    case TaskKind::kBackward:
    case TaskKind::kBackwardInput:
    case TaskKind::kBackwardWeight:
      return Backward(task);
    case TaskKind::kReduce:
      return reducer_->Reduce(task.unit);
    case TaskKind::kGather: {
      const PhaseScope communication(timer_, Phase::kCommunication);
      return values_->Gather(task.unit);
    }
    case TaskKind::kRelease: {
      const PhaseScope communication(timer_, Phase::kCommunication);
      casts_->Forget(state_.units()[static_cast<size_t>(task.unit)].parameters());
      return values_->Release(task.unit);
    }
    case TaskKind::kVote:
      MUSTER_RETURN_IF_ERROR(FinishReduce());
      MUSTER_RETURN_IF_ERROR(state_.Seal());
      return Vote(requests, outcome);
    case TaskKind::kPrepare:
      return Prepare();
    case TaskKind::kConfirm:
      return Confirm(outcome);
    case TaskKind::kApply: {
      MUSTER_RETURN_IF_ERROR(state_.Apply());
      MUSTER_FAILPOINT("trainer.after_apply");
      return absl::OkStatus();
    }
    case TaskKind::kSend:
    case TaskKind::kRecv: {
      const PhaseScope communication(timer_, Phase::kCommunication);
      return Exchange(task);
    }
  }
  return absl::InternalError(absl::StrCat("no task: ", ToString(task)));
}

absl::Status Engine::Exchange(const Task& task) {
  const int block = task.block, micro_batch = task.micro_batch;
  const int stage = task.peer % groups_.stages->size();
  if (task.kind == TaskKind::kRecv && task.gradient) {
    MUSTER_ASSIGN_OR_RETURN(
        std::vector<at::Tensor> gradients,
        link_->ReceiveGradients(block, stage, runner_.OutputsOf(block, micro_batch)));
    runner_.TakeGradients(block, micro_batch, std::move(gradients));
    return absl::OkStatus();
  }
  if (task.kind == TaskKind::kRecv) {
    MUSTER_ASSIGN_OR_RETURN(std::vector<at::Tensor> outputs, link_->ReceiveOutputs(block, stage));
    runner_.TakeOutputs(block, micro_batch, std::move(outputs));
    return absl::OkStatus();
  }
  const std::vector<at::Tensor> outputs = runner_.OutputsOf(block, micro_batch);
  if (!task.gradient) return link_->SendOutputs(block, stage, outputs);
  return link_->SendGradients(block, stage, outputs, runner_.GradientsOf(block, micro_batch));
}

absl::Status Engine::AwaitValues(int block) {
  if (values_ == nullptr) return absl::OkStatus();
  const PhaseScope communication(timer_, Phase::kCommunication);
  return values_->AwaitBlock(block);
}

absl::Status Engine::Forward(const Task& task) {
  MUSTER_RETURN_IF_ERROR(AwaitValues(task.block));
  return runner_.Forward(task.block, task.micro_batch);
}

absl::Status Engine::Backward(const Task& task) {
  const bool whole = task.kind == TaskKind::kBackward;
  const bool begins = task.kind != TaskKind::kBackwardWeight;
  const bool ends = task.kind != TaskKind::kBackwardInput;
  if (begins) MUSTER_RETURN_IF_ERROR(AwaitValues(task.block));
  for (size_t u = 0; u < state_.units().size(); ++u) {
    if (!IsLastUser(state_.units()[u], task.block)) continue;
    MUSTER_RETURN_IF_ERROR(reducer_->MicroBatchBegins(static_cast<int>(u)));
  }
  MUSTER_RETURN_IF_ERROR(whole    ? runner_.Backward(task.block, task.micro_batch)
                         : begins ? runner_.BackwardInput(task.block, task.micro_batch)
                                  : runner_.BackwardWeight(task.block, task.micro_batch));
  for (size_t u = 0; u < state_.units().size(); ++u) {
    if (!ends || !IsFirstUser(state_.units()[u], task.block)) continue;
    reducer_->MicroBatchDone(static_cast<int>(u), task.micro_batch);
  }
  return absl::OkStatus();
}

absl::Status Engine::FinishReduce() {
  // The update changes the values, and a round that ends here begins with others.
  casts_->ForgetAll();
  {
    const PhaseScope communication(timer_, Phase::kCommunication);
    MUSTER_RETURN_IF_ERROR(reducer_->Finish());
    if (link_ != nullptr) MUSTER_RETURN_IF_ERROR(link_->Finish());
  }
  for (const Unit& unit : state_.units()) MUSTER_RETURN_IF_ERROR(unit.CheckViews());
  return absl::OkStatus();
}

absl::Status Engine::GatherGradients() {
  if (groups_.shard == nullptr) return absl::OkStatus();
  SliceGather gather(*groups_.shard);
  for (const Unit& unit : state_.units()) {
    unit.AllocateGradients();
    MUSTER_RETURN_IF_ERROR(
        gather.Start(unit.gradients(), unit.held().gradients, unit.layout().name));
  }
  return gather.Finish();
}

double Engine::TakeBusySeconds() {
  const v1alpha1::PhaseTimes times = timer_.Totals();
  const double busy = times.compute() + times.data();
  return busy - std::exchange(busy_, busy);
}

absl::Status Engine::Vote(const StepRequests& requests, StepOutcome& outcome) {
  const TrainingOptions& options = state_.options();
  const int64_t chunks = AllChunks(state_.units());
  // The device computes both before the host waits for either.
  const at::Tensor losses_on_device =
      runner_.LossesOnDevice(has_losses_ ? micro_batches_.leaves() : 0);
  const SummedChunks sums = SumOwnChunks(state_.units(), groups_);
  MUSTER_ASSIGN_OR_RETURN(const at::Tensor losses, SumLosses(losses_on_device));
  const size_t counted = counts_losses_ ? valid_tokens_.size() : 0;
  const VoteContribution share{.version = state_.commit().next(),
                               .trajectory = options.trajectory,
                               .first_micro_batch = micro_batches_.begin,
                               .losses = AsSpan(losses).first(counted),
                               .valid_tokens = std::span(valid_tokens_).first(counted),
                               .chunks = sums.chunks,
                               .chunk_squares = AsSpan(sums.squares),
                               .save = requests.save,
                               .stop = requests.stop,
                               .copy = requests.asks_for_copy && requests.asks_for_copy(),
                               .save_due = requests.save_due,
                               .writing = requests.is_writing && requests.is_writing(),
                               .tuning = HashOfTuning(requests),
                               .rank = communicator_->rank(),
                               .ranks = communicator_->size(),
                               .busy_seconds = TakeBusySeconds(),
                               .device_memory = MemoryForVote(options.device, device_bytes_)};
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
  outcome.busy = DecodeBusyTimes(AsSpan(message), communicator_->size());
  if (share.device_memory.has_value()) {
    outcome.device_memory = DecodeDeviceMemory(AsSpan(message), communicator_->size());
  }
  const VoteTotals totals =
      DecodeVote(AsSpan(message), options.deterministic, options.micro_batches, chunks);
  outcome.copy = totals.copy_requests == communicator_->size();
  outcome.save_due = totals.saves_due > 0.0;
  outcome.writing = totals.writing > 0.0;
  outcome.decision = DecideStep(totals, state_.rules(), state_.counts().past(),
                                state_.commit().next(), state_.commit().round());
  if (share.tuning.has_value() &&
      AllKnowTuning(AsSpan(message), *share.tuning, communicator_->size())) {
    *outcome.decision.mutable_tuning() = ToProto(*requests.tuning);
  }
  return state_.commit().Decide(outcome.decision);
}

absl::Status Engine::Prepare() {
  MUSTER_ASSIGN_OR_RETURN(update_is_finite_, state_.PrepareUpdate(groups_));
  return state_.commit().Prepared();
}

absl::Status Engine::Confirm(StepOutcome& outcome) {
  CommitMachine& commit = state_.commit();
  at::Tensor message = ToTensor(EncodeConfirm(commit.voted(), update_is_finite_));
  MUSTER_FAILPOINT("trainer.before_confirm");
  {
    const PhaseScope communication(timer_, Phase::kCommunication);
    auto pending = communicator_->AllReduce(message, ReduceOp::kSum, "confirm");
    MUSTER_RETURN_IF_ERROR(commit.ConfirmSent());
    MUSTER_RETURN_IF_ERROR(pending->Wait());
  }
  MUSTER_ASSIGN_OR_RETURN(const bool finite,
                          DecodeConfirm(AsSpan(message), commit.voted(), communicator_->size()));
  if (!finite) {
    outcome.decision = WithoutUpdate(commit.voted(), state_.rules(), state_.counts().past());
  }
  return commit.Confirm(outcome.decision);
}

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
    if (idle && (task.kind == TaskKind::kForward || task.kind == TaskKind::kSend ||
                 task.kind == TaskKind::kRecv)) {
      continue;
    }
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
  const Communicator& workers = WorkersOf(groups_);
  for (int first = 0; first < batches; first += workers.size()) {
    const int b = first + workers.rank();
    std::vector<MicroBatchContext> contexts;
    if (b < batches) {
      MUSTER_ASSIGN_OR_RETURN(MicroBatch batch, feed_.Validation(b));
      if (counts_losses_) message[2 * b + 1] = static_cast<double>(CountValid(batch.labels));
      MUSTER_ASSIGN_OR_RETURN(MicroBatchContext context,
                              Context(std::move(batch), state_.applied()->step(), false));
      contexts.push_back(std::move(context));
    }
    MUSTER_RETURN_IF_ERROR(Evaluate(std::move(contexts)));
    if (b >= batches || !has_losses_) continue;
    MUSTER_ASSIGN_OR_RETURN(const at::Tensor loss_of_batch, SumLosses(runner_.LossesOnDevice(1)));
    if (counts_losses_) message[2 * b] = AsSpan(loss_of_batch)[0];
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

absl::Status Engine::ComputeGradients() {
  MUSTER_RETURN_IF_ERROR(LoadStep(state_.commit().next().step()));
  for (const Task& task : table_) {
    if (task.kind == TaskKind::kVote) {
      MUSTER_RETURN_IF_ERROR(FinishReduce());
      MUSTER_RETURN_IF_ERROR(GatherGradients());
      if (const double scale = LossScaleOfStep(); scale != 1.0) {
        for (const Unit& unit : state_.units()) unit.gradients().div_(scale);
      }
      return absl::OkStatus();
    }
    StepOutcome unused;
    MUSTER_RETURN_IF_ERROR(RunTask(task, {}, unused));
  }
  return absl::InternalError("the table has no vote");
}

double Engine::loss_sum() const {
  const std::vector<double> losses = runner_.losses(has_losses_ ? micro_batches_.leaves() : 0);
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace muster::trainer
