// The part of Trainer in which a rank joins a round: it meets the others and comes to the state
// from which they go on.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/failpoint.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "proto/muster/v1alpha1/round_id.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/link_speeds.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/commit/held_places.h"
#include "trainer/commit/judge_item.h"
#include "trainer/commit/tunings.h"
#include "trainer/engine/link/round_errors.h"
#include "trainer/engine/link/torch_errors.h"
#include "trainer/engine/store/compare_data.h"
#include "trainer/engine/store/compare_digests.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/trainer.h"

namespace muster::trainer {

using v1alpha1::FromTrainer;
using v1alpha1::ResumePoint;

namespace {

// Bounds what an order may ask for, so that no rank waits for ever.
constexpr double kMostHoldSeconds = 60;

void NoteLinks(const std::vector<LinkSpeed>& links, v1alpha1::WorkerJoined& joined) {
  for (const LinkSpeed& link : links) {
    v1alpha1::LinkSpeed& noted = *joined.add_links();
    noted.set_rank(link.rank);
    noted.set_peer(link.peer);
    noted.set_bytes_per_second(link.bytes_per_second);
  }
}

}  // namespace

void Trainer::OnGo(const v1alpha1::GoRound& go) {
  if (state_ == State::kJoined && Same(go.round(), round_)) return BeginSteps();
  if (state_ != State::kHolding || !Same(go.round(), round_)) return;
  FromTrainer message;
  v1alpha1::WorkerJoined& joined = *message.mutable_joined();
  *joined.mutable_round() = round_;
  const absl::Status status = CatchTorch("joining", [&] { return Join(go, joined); });
  is_undecided_ = joined.undecided();
  if (!status.ok()) {
    LeaveRound();
    if (DiskFailsAgain()) exit_code_ = kExitFailed;
    if (exit_code_ != 0) return Finish(false, std::string(status.message()));
    if (parts_.inbox.interrupt()) return;  // superseded: no answer is expected
    MUSTER_LOG(WARN, "could not join", {"round", round_.round()}, {"error", status});
    joined.set_error(std::string(status.message()));
    parts_.outbox.Send(message);
    return;
  }
  if (go.resume().source() != ResumePoint::LIVE && IsFirst()) checkpoints_.SetAside(round_);
  *joined.mutable_version() = *parts_.state.applied();
  joined.set_trajectory(trajectory_);
  NoteRestored(go.resume(), joined);
  NoteLinks(links_, joined);
  parts_.outbox.Send(message);
  reporter_.Resume(parts_.state.applied()->step());
  reporter_.BeginRound(round_);
  if (parts_.events != nullptr) {
    parts_.events->BeginRound(IsFirst() ? settings_.event_directory : "",
                              parts_.state.applied()->step());
  }
  checkpoints_.Expect(Writer());
  MUSTER_LOG(INFO, "joined", {"round", round_.round()}, {"rank", rank_},
             {"world_size", world_size_}, {"step", parts_.state.applied()->step()});
  has_news_ =
      go.resume().source() == ResumePoint::LIVE || go.resume().source() == ResumePoint::MEMORY;
  const double hold = go.link_test().hold_seconds();
  if (!(hold > 0)) return BeginSteps();
  state_ = State::kJoined;
  start_by_ = parts_.clock.Monotonic() + absl::Seconds(std::min(hold, kMostHoldSeconds));
}

void Trainer::BeginSteps() {
  state_ = State::kStepping;
  parts_.timer.Switch(Phase::kOther);
}

bool Trainer::AwaitStart() {
  const auto message = parts_.inbox.TakeWithin(start_by_ - parts_.clock.Monotonic());
  if (message) {
    Obey(*message);
    return exit_code_ == 0;
  }
  if (parts_.inbox.interrupt()) return false;  // the agent is gone
  MUSTER_LOG(WARN, "no second order to go: the steps begin", {"round", round_.round()});
  BeginSteps();
  return true;
}

absl::Status Trainer::TestLinks(const v1alpha1::GoRound& go) {
  links_.clear();
  if (!go.has_link_test()) return absl::OkStatus();
  const auto& ranks = go.link_test().ranks();
  MUSTER_ASSIGN_OR_RETURN(links_,
                          MeasureLinks({ranks.begin(), ranks.end()}, parts_.state.options().device,
                                       mesh_->world(), parts_.clock));
  return absl::OkStatus();
}

// A directory that could never be claimed is bad input and ends training on this rank.
absl::Status Trainer::CheckCanSave(const ResumePoint& resume) {
  if (absl::Status claimed = checkpoints_.Claim(resume); !claimed.ok()) {
    exit_code_ = kExitBadInput;
    return claimed;
  }
  return checkpoints_.CheckWritable(resume, settings_.local_rank);
}

absl::Status Trainer::CheckShared(const ResumePoint& resume) {
  const absl::Status shared = checkpoints_.CheckShared(
      round_, resume, mesh_->world(), settings_.mark_seen_within, parts_.inbox.interrupt());
  if (absl::IsInvalidArgument(shared)) exit_code_ = kExitBadInput;
  return shared;
}

// A new run on data that differ is bad input. A run that has state keeps it until a rank comes that
// has the same data.
absl::Status Trainer::CheckData(const ResumePoint& resume) {
  if (parts_.data == nullptr) return absl::OkStatus();
  std::random_device device;
  const uint64_t random = uint64_t{device()} << 32 | device();
  const absl::Status same = CompareData(random, *parts_.data, mesh_->world());
  if (!absl::IsFailedPrecondition(same)) return same;
  if (resume.source() == ResumePoint::FRESH) {
    exit_code_ = kExitBadInput;
    return absl::InvalidArgumentError(same.message());
  }
  return absl::FailedPreconditionError(absl::StrCat(
      same.message(), "; put them there, and delete the pod of the worker that has others"));
}

absl::Status Trainer::Join(const v1alpha1::GoRound& go, v1alpha1::WorkerJoined& joined) {
  MUSTER_RETURN_IF_ERROR(CheckCanSave(go.resume()));
  if (go.endpoint().empty()) {
    return absl::InvalidArgumentError("the order to go names no endpoint of the round's store");
  }
  MUSTER_RETURN_IF_ERROR(adopted_);
  MUSTER_ASSIGN_OR_RETURN(const MeshShape shape, MeshShapeOf(go, world_size_));
  const ModelPart needed = PlaceOf(shape, rank_).part;
  if (const int stages = parts_.state.cut().stages(); shape.pipeline != stages) {
    return absl::FailedPreconditionError(
        absl::StrCat("the round has a pipeline of ", shape.pipeline,
                     " stages, and this rank was made for ", stages));
  }
  if (!(needed == parts_.state.part())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the round needs part ", needed.index, " of ", needed.count,
                     " of the model, and this rank was made for part ", parts_.state.part().index,
                     " of ", parts_.state.part().count));
  }
  if (parts_.fits != nullptr) MUSTER_RETURN_IF_ERROR(parts_.fits(shape.shard));
  MUSTER_ASSIGN_OR_RETURN(mesh_,
                          RoundMesh::Connect(go, rank_, world_size_, parts_.network, parts_.inbox));
  Communicator& world = mesh_->world();
  MUSTER_FAILPOINT("trainer.during_join");
  MUSTER_RETURN_IF_ERROR(CompareSpecs(parts_.state.options().trajectory, world));
  MUSTER_RETURN_IF_ERROR(CheckData(go.resume()));
  MUSTER_RETURN_IF_ERROR(TestLinks(go));
  MUSTER_RETURN_IF_ERROR(CheckShared(go.resume()));
  MUSTER_ASSIGN_OR_RETURN(const RestorePlan plan,
                          parts_.state.commit().Go(round_, rank_, go.resume()));
  const absl::Time begun = parts_.clock.Monotonic();
  MUSTER_RETURN_IF_ERROR(Restore(plan, go.resume(), *joined.mutable_bad_checkpoint()));
  restore_time_ = parts_.clock.Monotonic() - begun;
  if (mesh_->groups().shard != nullptr && !parts_.state.divides_values()) {
    MUSTER_RETURN_IF_ERROR(GatherValues(*mesh_->groups().shard, parts_.state));
  }
  MUSTER_RETURN_IF_ERROR(CompareStates(go.resume(), joined));
  MUSTER_RETURN_IF_ERROR(BeginCopies(go.resume()));
  return engine_.BeginRound(mesh_->groups());
}

absl::Status Trainer::CompareStates(const ResumePoint& resume, v1alpha1::WorkerJoined& joined) {
  // Random weights of one rank are as good as those of another.
  const bool any_will_do = resume.source() == ResumePoint::FRESH && parts_.initial == nullptr;
  const absl::Status equal =
      CompareDigests(resume, mesh_->shape(), mesh_->world(), parts_.state, [&] {
        if (any_will_do) return IsFirst() ? Proof::kRight : Proof::kNone;
        return checkpoints_.Prove();
      });
  joined.set_undecided(absl::IsFailedPrecondition(equal));
  return equal;
}

// Ranks that differ leave the round. In the next one those that are wrong receive; where nothing
// tells which are, all find so again, and wait for the job's owner.
absl::Status Trainer::CompareIfDue() {
  const v1alpha1::Version& version = *parts_.state.applied();
  if (settings_.compare_every <= 0 || version.step() % settings_.compare_every != 0) {
    return absl::OkStatus();
  }
  const absl::Status equal = CatchTorch("comparing states", [&] {
    return CompareDigests(version, std::vector(static_cast<size_t>(world_size_), true),
                          mesh_->shape(), mesh_->world(), parts_.state,
                          [&] { return checkpoints_.Prove(); });
  });
  if (!absl::IsDataLoss(equal) && !absl::IsFailedPrecondition(equal)) return equal;
  return absl::UnavailableError(equal.message());
}

// Copies that could never fit are bad input and end training on this rank.
absl::Status Trainer::BeginCopies(const ResumePoint& resume) {
  // Reports of an earlier round speak of its peers. Those of this one come once all have joined.
  parts_.inbox.ForgetReplica();
  const absl::Status begun = checkpoints_.copies().BeginRound(settings_, resume, round_);
  if (!begun.ok()) exit_code_ = kExitBadInput;
  return begun;
}

void Trainer::NoteRestored(const ResumePoint& resume, v1alpha1::WorkerJoined& joined) const {
  const bool loaded =
      resume.source() == ResumePoint::MEMORY || resume.source() == ResumePoint::CHECKPOINT;
  const int64_t replicas = parts_.replicas == nullptr ? 0 : parts_.replicas->bytes_read();
  joined.set_restored_bytes(received_bytes_ +
                            (loaded ? checkpoints_.loaded_bytes() + replicas : 0));
  joined.set_restore_seconds(absl::ToDoubleSeconds(restore_time_));
  MUSTER_LOG(INFO, "state restored", {"source", ResumePoint::Source_Name(resume.source())},
             {"step", parts_.state.applied()->step()}, {"bytes", joined.restored_bytes()},
             {"seconds", joined.restore_seconds()});
}

// Weights that are damaged, or not there any more, are bad input and end training on this rank.
absl::Status Trainer::LoadInitial() {
  if (parts_.initial == nullptr) return absl::OkStatus();
  const absl::Status loaded = LoadInitialWeights(*parts_.initial, parts_.state);
  if (loaded.ok()) return absl::OkStatus();
  if (!IsErrorOfRound(loaded)) exit_code_ = kExitBadInput;
  return absl::Status(loaded.code(),
                      absl::StrCat(parts_.initial->field(), ": ", std::string(loaded.message())));
}

// The ranks come to hold their slices, those from replicas that this rank reads included.
absl::Status Trainer::Transfer(const ResumePoint& resume) {
  StoredSlices stored;
  for (const v1alpha1::ReplicaSource& replica : resume.replicas()) {
    stored.emplace_back();
    if (replica.rank() != rank_) continue;
    if (parts_.replicas == nullptr) {
      return absl::FailedPreconditionError("this rank reads no replicas");
    }
    MUSTER_ASSIGN_OR_RETURN(stored.back(),
                            parts_.replicas->Open(resume.version(), ToPlace(replica.slice())));
  }
  MUSTER_ASSIGN_OR_RETURN(
      received_bytes_, TransferState(resume, mesh_->shape(), mesh_->world(), parts_.state, stored));
  return absl::OkStatus();
}

// Without this a new job that goes on from the checkpoint of a tuned one would not train by the
// rate of its own manifest.
void Trainer::KeepTunings() {
  RunCounts counts = parts_.state.counts();
  const size_t before = counts.tunings.size();
  counts.tunings = KeptTunings(settings_.tunings, counts.tunings);
  if (counts.tunings.size() == before) return;
  MUSTER_LOG(WARN, "the checkpoint has tunings that this job has not: they are no longer in force",
             {"checkpoint", before}, {"kept", counts.tunings.size()});
  parts_.state.set_counts(counts);
}

absl::Status Trainer::Restore(const RestorePlan& plan, const ResumePoint& resume,
                              std::string& bad_checkpoint) {
  TrainingState& state = parts_.state;
  const CopyPlace place = PlaceOf(mesh_->shape(), rank_);
  received_bytes_ = 0;
  switch (plan.action) {
    case RestorePlan::Action::kApplyRelay:
      MUSTER_RETURN_IF_ERROR(state.Apply());
      if (IsFirst()) {
        const v1alpha1::StepReport report = ReportOf(plan.relay);
        if (parts_.events != nullptr) parts_.events->Add(report);
        reporter_.Applied(report);
      }
      return Transfer(resume);
    case RestorePlan::Action::kKeep:
      return Transfer(resume);
    case RestorePlan::Action::kReceive:
      MUSTER_RETURN_IF_ERROR(Transfer(resume));
      return state.commit().Restored();
    case RestorePlan::Action::kLoad:
      MUSTER_RETURN_IF_ERROR(state.Divide(place.shard, place.stage.index));
      MUSTER_RETURN_IF_ERROR(checkpoints_.Load(plan, bad_checkpoint));
      KeepTunings();
      return state.commit().Restored();
    case RestorePlan::Action::kLoadCopy:
      MUSTER_RETURN_IF_ERROR(checkpoints_.LoadCopy(plan));
      MUSTER_RETURN_IF_ERROR(state.commit().Restored());
      return Transfer(resume);
    case RestorePlan::Action::kInitialize:
      MUSTER_RETURN_IF_ERROR(state.Divide(place.shard, place.stage.index));
      MUSTER_RETURN_IF_ERROR(state.InitializeFresh());
      MUSTER_RETURN_IF_ERROR(LoadInitial());
      return state.commit().Restored();
  }
  return absl::InternalError("unknown way to restore the state");
}

}  // namespace muster::trainer
