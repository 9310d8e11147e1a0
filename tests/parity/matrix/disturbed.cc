#include "tests/parity/matrix/disturbed.h"

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/testing/memory_files.h"
#include "operator/core/resume/resume.h"
#include "planner/layout.h"
#include "tests/parity/matrix/curve.h"
#include "tests/parity/matrix/sudden_end.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/engine/trainer.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/offload/memory_state_files.h"

namespace muster::trainer {
namespace {

using v1alpha1::FromTrainer;
using v1alpha1::RankPosition;

constexpr char kHistory[] = "00000000000000aa";
constexpr int kSaveEvery = 3;  // steps; divides kComparedSteps and kMatrixSteps

// The checkpoints and the network that all ranks see.
struct World {
  MemoryFiles files;
  ThreadNetwork::Rounds rounds;
  int64_t round = 0;
};

TrainingOptions OptionsOf(const ToyRun& run, const MatrixRow& row) {
  TrainingOptions options = ToyOptions(run, row.micro_batches);
  options.divided = row.divided();
  options.offload = row.offload();
  options.parts = row.tensor;
  options.stages = row.pipeline;
  options.context_exchange = row.exchange;
  options.pipeline_schedule = row.schedule;
  options.chunks = row.chunks();
  options.activations = row.activations;
  return options;
}

std::unique_ptr<CheckpointStore> OpenStore(MemoryFiles& files, Outbox& outbox) {
  return std::make_unique<CheckpointStore>(files, Clock::Real(), "/ck", /*keep=*/3,
                                           RunIdentity{.job = "default/matrix",
                                                       .job_uid = "uid",
                                                       .data_checksum = "grammar",
                                                       .vocabulary = kToyVocabulary},
                                           outbox);
}

// A whole trainer on a thread of its own.
class Rank {
 public:
  static absl::StatusOr<std::unique_ptr<Rank>> Start(const ToyRun& run, const MatrixRow& row,
                                                     int64_t steps, int part, const Moment& end,
                                                     World& world) {
    auto rank = std::make_unique<Rank>(row, end, world);
    MUSTER_ASSIGN_OR_RETURN(Model model, MakeModel(ToyShape(run.family)));
    MUSTER_ASSIGN_OR_RETURN(rank->state_,
                            TrainingState::Create(Watched(std::move(model), rank->end_),
                                                  OptionsOf(run, row), {}, &rank->disk_, part));
    rank->store_ = OpenStore(world.files, rank->outbox_);
    rank->thread_ = std::thread([rank = rank.get(), steps] { rank->Train(steps); });
    return rank;
  }
  Rank(const MatrixRow& row, const Moment& end, World& world)
      : end_(end, inbox_),
        feed_(kToyBatch / row.micro_batches, end_),
        network_(world.rounds, end_) {}
  ~Rank() {
    inbox_.Close();
    AwaitEnd();
  }

  void AwaitEnd() {
    if (thread_.joinable()) thread_.join();
  }
  void Send(const v1alpha1::ToTrainer& message) { inbox_.Push(message); }
  RecordingOutbox& outbox() { return outbox_; }

 private:
  void Train(int64_t steps) {
    Trainer trainer({.steps = steps, .save_every_steps = kSaveEvery},
                    Trainer::Parts{.state = *state_,
                                   .feed = feed_,
                                   .network = network_,
                                   .checkpoints = store_.get(),
                                   .inbox = inbox_,
                                   .outbox = outbox_,
                                   .progress = progress_,
                                   .timer = timer_,
                                   .clock = Clock::Real()});
    while (trainer.RunOnce()) {
    }
  }

  Inbox inbox_;
  SuddenEnd end_;
  EndingFeed feed_;
  EndingNetwork network_;
  RecordingOutbox outbox_;
  EngineProgress progress_{Clock::Real()};
  PhaseTimer timer_{Clock::Real(), Phase::kInit};
  MemoryStateFiles disk_;
  std::unique_ptr<TrainingState> state_;
  std::unique_ptr<CheckpointStore> store_;
  std::thread thread_;
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

absl::StatusOr<Ranks> StartRanks(const ToyRun& run, const MatrixRow& row, int64_t steps,
                                 World& world, int lost = -1, const Moment& moment = {}) {
  Ranks ranks;
  for (int r = 0; r < row.ranks; ++r) {
    MUSTER_ASSIGN_OR_RETURN(auto rank, Rank::Start(run, row, steps, r % row.tensor,
                                                   r == lost ? moment : Moment{}, world));
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

// Keeps the newest steps that the ranks remember: the first rank may have been lost before it
// reported them.
void RememberSteps(const std::vector<RankPosition>& positions, DisturbedRun& out) {
  for (const RankPosition& position : positions) {
    for (const v1alpha1::StepDecision& decision : position.decisions()) {
      out.steps.push_back({decision.version().step(), decision.loss(), decision.gradient_norm()});
    }
  }
}

void KeepReports(Rank& rank, DisturbedRun& out) {
  for (const v1alpha1::StepReport& report : rank.outbox().Reports()) {
    out.steps.push_back({report.version().step(), report.loss(), report.gradient_norm()});
  }
}

// Prepares the next round and returns where it would go on.
control::ResumeDecision AskRanks(Ranks& ranks, World& world, DisturbedRun& out) {
  ++world.round;
  for (size_t r = 0; r < ranks.size(); ++r) {
    v1alpha1::ToTrainer message;
    message.mutable_prepare()->mutable_round()->set_round(world.round);
    message.mutable_prepare()->set_rank(static_cast<int>(r));
    message.mutable_prepare()->set_world_size(static_cast<int>(ranks.size()));
    ranks[r]->Send(message);
  }
  std::vector<RankPosition> positions;
  for (const auto& rank : ranks) {
    positions.push_back(rank->outbox().Await(FromTrainer::kReady).ready().ready().position());
  }
  RememberSteps(positions, out);
  control::ResumeOptions options{.min_attempt = world.round, .new_history = kHistory};
  if (world.round > 1) options.floor = control::Floor{0, kHistory};
  return control::DecideResume(positions, options);
}

// Prepares rounds until one can go on, as the operator does: a checkpoint may be finished while the
// ranks list what there is, so that some see it and others do not.
absl::StatusOr<control::ResumeDecision> PrepareRound(Ranks& ranks, World& world,
                                                     DisturbedRun& out) {
  control::ResumeDecision decision = AskRanks(ranks, world, out);
  while (decision.reason == control::ResumeReason::kCheckpointHidden) {
    decision = AskRanks(ranks, world, out);
  }
  if (decision.holds()) return absl::InternalError(absl::StrCat("held: ", decision.sentence));
  return decision;
}

absl::Status Go(Ranks& ranks, const MatrixRow& row, const v1alpha1::ResumePoint& resume,
                World& world) {
  v1alpha1::ToTrainer message;
  v1alpha1::GoRound& go = *message.mutable_go();
  go.mutable_round()->set_round(world.round);
  go.set_endpoint("thread:1");
  *go.mutable_resume() = resume;
  *go.mutable_mesh() = planner::LayOutRanks(row.parallelism(), static_cast<int>(ranks.size()));
  for (const auto& rank : ranks) rank->Send(message);
  for (const auto& rank : ranks) {
    const std::string error = rank->outbox().Await(FromTrainer::kJoined).joined().error();
    if (!error.empty()) return absl::InternalError(absl::StrCat("joining: ", error));
  }
  return absl::OkStatus();
}

absl::Status Finish(Ranks& ranks, DisturbedRun& out) {
  for (const auto& rank : ranks) {
    const auto finished = rank->outbox().Await(FromTrainer::kFinished).finished();
    if (!finished.succeeded()) return absl::InternalError(finished.message());
    KeepReports(*rank, out);
  }
  return absl::OkStatus();
}

absl::Status TrainWithALoss(const ToyRun& run, const MatrixRow& row, uint64_t seed, World& world,
                            DisturbedRun& out) {
  std::mt19937_64 random(seed);
  const int lost = std::uniform_int_distribution<int>(0, row.ranks - 1)(random);
  const Moment moment{std::uniform_int_distribution<int64_t>(2, kComparedSteps)(random),
                      std::uniform_real_distribution<double>(0.0, 1.0)(random)};
  out.loss = absl::StrCat("rank ", lost, " at ", moment.place, " of step ", moment.step);
  MUSTER_ASSIGN_OR_RETURN(Ranks ranks, StartRanks(run, row, kComparedSteps, world, lost, moment));
  MUSTER_ASSIGN_OR_RETURN(const auto start, PrepareRound(ranks, world, out));
  MUSTER_RETURN_IF_ERROR(Go(ranks, row, start.point, world));
  ranks[static_cast<size_t>(lost)]->AwaitEnd();
  KeepReports(*ranks[static_cast<size_t>(lost)], out);
  // The ranks that are left fill the stages, which are others for some of them, and groups that
  // divide sequences. Where no layout has fewer ranks and the same parts, another rank takes the
  // place.
  if (row.tensor > 1 || row.workers() == 1) {
    MUSTER_ASSIGN_OR_RETURN(ranks[static_cast<size_t>(lost)],
                            Rank::Start(run, row, kComparedSteps, lost % row.tensor, {}, world));
  } else {
    ranks.erase(ranks.begin() + lost);
    // The ranks that will be left out tell first of the steps that they saw.
    if (static_cast<int>(ranks.size()) % row.together() != 0) AskRanks(ranks, world, out);
    while (static_cast<int>(ranks.size()) % row.together() != 0) {
      const auto left_out = ranks.begin() + std::uniform_int_distribution<int64_t>(
                                                0, static_cast<int64_t>(ranks.size()) - 1)(random);
      KeepReports(**left_out, out);
      ranks.erase(left_out);
    }
  }
  MUSTER_ASSIGN_OR_RETURN(const auto decision, PrepareRound(ranks, world, out));
  out.resume = std::string(control::Name(decision.reason));
  MUSTER_RETURN_IF_ERROR(Go(ranks, row, decision.point, world));
  return Finish(ranks, out);
}

absl::Status TrainFromCheckpoint(const ToyRun& run, const MatrixRow& row, World& world,
                                 DisturbedRun& out) {
  MUSTER_ASSIGN_OR_RETURN(Ranks ranks, StartRanks(run, row, kMatrixSteps, world));
  MUSTER_ASSIGN_OR_RETURN(const auto decision, PrepareRound(ranks, world, out));
  if (decision.reason != control::ResumeReason::kCheckpoint ||
      decision.point.version().step() != kComparedSteps) {
    return absl::InternalError(absl::StrCat("not from the last checkpoint: ", decision.sentence));
  }
  MUSTER_RETURN_IF_ERROR(Go(ranks, row, decision.point, world));
  return Finish(ranks, out);
}

absl::StatusOr<Tensors> ReadLastWeights(const ToyRun& run, World& world) {
  MUSTER_ASSIGN_OR_RETURN(Model model, MakeModel(ToyShape(run.family)));
  MUSTER_ASSIGN_OR_RETURN(const auto state,
                          TrainingState::Create(std::move(model), ToyOptions(run, 1)));
  RecordingOutbox outbox;
  const auto store = OpenStore(world.files, outbox);
  const Checkpoints::Listing listing = store->List(*state);
  if (listing.complete.empty() || listing.complete[0].version().step() != kMatrixSteps) {
    return absl::InternalError("there is no checkpoint of the last step");
  }
  MUSTER_RETURN_IF_ERROR(store->Load(listing.complete[0], *state).status());
  return CopyOf(state->Parameters(), run);
}

}  // namespace

absl::StatusOr<DisturbedRun> TrainDisturbed(const ToyRun& run, const MatrixRow& row,
                                            const MatrixRow& loaded, uint64_t seed) {
  World world;
  DisturbedRun out;
  MUSTER_RETURN_IF_ERROR(TrainWithALoss(run, row, seed, world, out));
  MUSTER_RETURN_IF_ERROR(TrainFromCheckpoint(run, loaded, world, out));
  MUSTER_ASSIGN_OR_RETURN(out.last_weights, ReadLastWeights(run, world));
  return out;
}

}  // namespace muster::trainer
