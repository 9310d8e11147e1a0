#include "operator/coordinator/stream/agent_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "planner/layout.h"
#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::control {
namespace {

using v1alpha1::AgentMessage;
using v1alpha1::kMaxCount;
using v1alpha1::kMaxName;
using v1alpha1::kMaxPath;

// More seconds than any step, save or run of these times takes: 30 years.
constexpr double kMostSeconds = 1e9;

constexpr int64_t kMostRanks = int64_t{kMostWorkers} * kMostRanksOfWorker;

absl::Status Wrong(absl::string_view field, absl::string_view wants) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": wants ", wants));
}

absl::Status CheckRange(absl::string_view field, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return Wrong(field, absl::StrCat("0 to ", most, ", and not ", value));
}

absl::Status CheckSize(absl::string_view field, size_t size, size_t most) {
  if (size <= most) return absl::OkStatus();
  return Wrong(field, absl::StrCat("at most ", most, ", and not ", size));
}

absl::Status Check(const v1alpha1::RoundId& round) {
  MUSTER_RETURN_IF_ERROR(CheckRange("round.term", round.term(), kMaxCount));
  return CheckRange("round.round", round.round(), kMaxCount);
}

absl::Status Check(const v1alpha1::Version& version) {
  MUSTER_RETURN_IF_ERROR(CheckRange("version.step", version.step(), kMaxCount));
  return CheckRange("version.attempt", version.attempt(), kMaxCount);
}

int64_t Count(int64_t value) { return std::clamp(value, int64_t{0}, kMaxCount); }

double Seconds(double value) {
  return std::isnan(value) ? 0 : std::clamp(value, 0.0, kMostSeconds);
}

void Bound(v1alpha1::PhaseTimes& times) {
  times.set_init(Seconds(times.init()));
  times.set_compute(Seconds(times.compute()));
  times.set_data(Seconds(times.data()));
  times.set_communication(Seconds(times.communication()));
  times.set_checkpoint(Seconds(times.checkpoint()));
  times.set_recovery(Seconds(times.recovery()));
  times.set_other(Seconds(times.other()));
}

bool IsTuning(const v1alpha1::Tuning& tuning) {
  const bool rate = std::isfinite(tuning.learning_rate()) && tuning.learning_rate() >= 0;
  const bool clip = std::isfinite(tuning.clip_norm()) && tuning.clip_norm() >= 0;
  return rate && clip && tuning.step() >= 1 && tuning.step() <= kMaxCount;
}

// A rank that reports what cannot be: it is not known which tunings are in force.
void BoundTuning(v1alpha1::StepReport& step) {
  if (step.tunings() >= 1 && step.tunings() <= v1alpha1::kMaxTunings && IsTuning(step.tuning())) {
    return;
  }
  step.clear_tunings();
  step.clear_tuning();
}

absl::Status Bound(const JobBounds& job, v1alpha1::StepReport& step) {
  MUSTER_RETURN_IF_ERROR(Check(step.version()));
  step.set_tokens(Count(step.tokens()));
  step.set_finished_at_us(Count(step.finished_at_us()));
  step.set_skipped_total(Count(step.skipped_total()));
  if (step.has_loss_scale()) step.set_loss_scale(Count(step.loss_scale()));
  step.set_spikes_total(Count(step.spikes_total()));
  BoundTuning(step);
  step.set_total_steps(Count(step.total_steps()));
  step.set_mean_busy_seconds(Seconds(step.mean_busy_seconds()));
  step.set_longest_busy_seconds(Seconds(step.longest_busy_seconds()));
  if (step.has_times()) Bound(*step.mutable_times());
  // A rank that the job does not have: which one was the slowest is not known.
  if (step.slowest_rank() < 0 || step.slowest_rank() >= job.workers * job.ranks) {
    step.clear_slowest_rank();
    step.clear_mean_busy_seconds();
    step.clear_longest_busy_seconds();
  }
  if (!step.has_device_memory()) return absl::OkStatus();
  v1alpha1::DeviceMemory& memory = *step.mutable_device_memory();
  memory.set_total(Count(memory.total()));
  memory.set_reserved(Count(memory.reserved()));
  memory.set_allocated_peak(Count(memory.allocated_peak()));
  memory.set_retries(Count(memory.retries()));
  return absl::OkStatus();
}

absl::Status Check(const v1alpha1::CheckpointRef& checkpoint) {
  MUSTER_RETURN_IF_ERROR(Check(checkpoint.version()));
  MUSTER_RETURN_IF_ERROR(CheckSize("directory", checkpoint.directory().size(), kMaxName));
  return CheckSize("history", checkpoint.history().size(), kMaxName);
}

absl::Status Bound(google::protobuf::RepeatedPtrField<v1alpha1::StateCopy>& copies) {
  MUSTER_RETURN_IF_ERROR(
      CheckSize("copies", static_cast<size_t>(copies.size()), v1alpha1::kMaxCopies));
  for (v1alpha1::StateCopy& copy : copies) {
    MUSTER_RETURN_IF_ERROR(Check(copy.version()));
    MUSTER_RETURN_IF_ERROR(CheckSize("copies.history", copy.history().size(), kMaxName));
    copy.set_bytes(Count(copy.bytes()));
  }
  return absl::OkStatus();
}

// A decision goes to other ranks as it is, so that nothing in it is changed.
absl::Status Check(const v1alpha1::StepDecision& decision) {
  MUSTER_RETURN_IF_ERROR(Check(decision.version()));
  MUSTER_RETURN_IF_ERROR(CheckRange("decision.spikes_in_row", decision.spikes_in_row(), kMaxCount));
  MUSTER_RETURN_IF_ERROR(CheckRange("decision.spikes_total", decision.spikes_total(), kMaxCount));
  if (!std::isfinite(decision.rate_factor()) || decision.rate_factor() < 0) {
    return Wrong("decision.rate_factor", "a number from 0");
  }
  if (decision.has_tuning() && !IsTuning(decision.tuning())) {
    return Wrong("decision.tuning", "a step from 1 and numbers from 0");
  }
  return absl::OkStatus();
}

absl::Status Bound(v1alpha1::RankPosition& position) {
  MUSTER_RETURN_IF_ERROR(CheckRange("position.term", position.term(), kMaxCount));
  MUSTER_RETURN_IF_ERROR(CheckRange("position.round", position.round(), kMaxCount));
  MUSTER_RETURN_IF_ERROR(Check(position.applied()));
  MUSTER_RETURN_IF_ERROR(Check(position.sealed()));
  MUSTER_RETURN_IF_ERROR(CheckSize("position.history", position.history().size(), kMaxName));
  MUSTER_RETURN_IF_ERROR(CheckSize("position.decisions",
                                   static_cast<size_t>(position.decisions_size()),
                                   v1alpha1::kMaxDecisions));
  for (const v1alpha1::StepDecision& decision : position.decisions()) {
    MUSTER_RETURN_IF_ERROR(Check(decision));
  }
  MUSTER_RETURN_IF_ERROR(CheckSize("position.checkpoints",
                                   static_cast<size_t>(position.checkpoints_size()),
                                   v1alpha1::kMaxCheckpoints));
  for (const v1alpha1::CheckpointRef& checkpoint : position.checkpoints()) {
    MUSTER_RETURN_IF_ERROR(Check(checkpoint));
  }
  MUSTER_RETURN_IF_ERROR(Bound(*position.mutable_copies()));
  return Bound(*position.mutable_replicas());
}

absl::Status Bound(const JobBounds& job, v1alpha1::WorkerReady& ready) {
  MUSTER_RETURN_IF_ERROR(Check(ready.round()));
  MUSTER_RETURN_IF_ERROR(CheckSize("ready.ranks", static_cast<size_t>(ready.ranks_size()),
                                   static_cast<size_t>(job.ranks)));
  for (v1alpha1::RankReady& rank : *ready.mutable_ranks()) {
    MUSTER_RETURN_IF_ERROR(CheckRange("ready.local_rank", rank.local_rank(), job.ranks - 1));
    MUSTER_RETURN_IF_ERROR(CheckSize("ready.endpoint", rank.endpoint().size(), kMaxName));
    if (rank.has_position()) MUSTER_RETURN_IF_ERROR(Bound(*rank.mutable_position()));
  }
  return absl::OkStatus();
}

absl::Status Bound(v1alpha1::WorkerJoined& joined) {
  MUSTER_RETURN_IF_ERROR(Check(joined.round()));
  MUSTER_RETURN_IF_ERROR(Check(joined.version()));
  MUSTER_RETURN_IF_ERROR(
      CheckSize("joined.bad_checkpoint", joined.bad_checkpoint().size(), kMaxName));
  MUSTER_RETURN_IF_ERROR(CheckSize("joined.trajectory", joined.trajectory().size(), kMaxName));
  MUSTER_RETURN_IF_ERROR(
      CheckSize("joined.links", static_cast<size_t>(joined.links_size()), v1alpha1::kMaxLinks));
  joined.set_restored_bytes(Count(joined.restored_bytes()));
  joined.set_restore_seconds(Seconds(joined.restore_seconds()));
  for (const v1alpha1::LinkSpeed& link : joined.links()) {
    MUSTER_RETURN_IF_ERROR(CheckRange("joined.links.rank", link.rank(), kMostRanks - 1));
    MUSTER_RETURN_IF_ERROR(CheckRange("joined.links.peer", link.peer(), kMostRanks - 1));
    if (!std::isfinite(link.bytes_per_second()) || link.bytes_per_second() < 0) {
      return Wrong("joined.links.bytes_per_second", "a number from 0");
    }
  }
  return absl::OkStatus();
}

absl::Status Check(const JobBounds& job, const v1alpha1::RankExited& exited) {
  MUSTER_RETURN_IF_ERROR(Check(exited.round()));
  MUSTER_RETURN_IF_ERROR(CheckRange("rank_exited.local_rank", exited.local_rank(), job.ranks - 1));
  MUSTER_RETURN_IF_ERROR(CheckRange("rank_exited.rank", exited.rank(), kMostRanks - 1));
  MUSTER_RETURN_IF_ERROR(CheckRange("rank_exited.exit_code", exited.exit_code(), 255));
  return CheckRange("rank_exited.signal", exited.signal(), 127);
}

absl::Status Bound(v1alpha1::CheckpointReport& report) {
  MUSTER_RETURN_IF_ERROR(Check(report.version()));
  MUSTER_RETURN_IF_ERROR(CheckSize("checkpoint.directory", report.directory().size(), kMaxName));
  MUSTER_RETURN_IF_ERROR(CheckSize("checkpoint.uri", report.uri().size(), kMaxPath));
  MUSTER_RETURN_IF_ERROR(CheckSize("checkpoint.history", report.history().size(), kMaxName));
  report.set_bytes(Count(report.bytes()));
  report.set_seconds(Seconds(report.seconds()));
  report.set_stall_seconds(Seconds(report.stall_seconds()));
  return absl::OkStatus();
}

absl::Status Bound(v1alpha1::WorkerFinished& finished) {
  MUSTER_RETURN_IF_ERROR(Check(finished.round()));
  MUSTER_RETURN_IF_ERROR(Check(finished.version()));
  MUSTER_RETURN_IF_ERROR(Check(finished.durable()));
  MUSTER_RETURN_IF_ERROR(CheckRange("finished.exit_code", finished.exit_code(), 255));
  if (finished.has_times()) Bound(*finished.mutable_times());
  return absl::OkStatus();
}

absl::Status Check(const v1alpha1::ReplicasKept& replicas) {
  MUSTER_RETURN_IF_ERROR(CheckSize("replicas.endpoint", replicas.endpoint().size(), kMaxName));
  MUSTER_RETURN_IF_ERROR(CheckSize("replicas.workers", static_cast<size_t>(replicas.workers_size()),
                                   size_t{kMostWorkers}));
  for (const int32_t worker : replicas.workers()) {
    MUSTER_RETURN_IF_ERROR(CheckRange("replicas.workers", worker, kMostWorkers - 1));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckBounds(const v1alpha1::AgentHello& hello) {
  MUSTER_RETURN_IF_ERROR(Check(hello.seen()));
  MUSTER_RETURN_IF_ERROR(Check(hello.active()));
  MUSTER_RETURN_IF_ERROR(
      CheckRange("hello.worker.index", hello.worker().index(), kMostWorkers - 1));
  MUSTER_RETURN_IF_ERROR(CheckRange("hello.ranks", hello.ranks(), kMostRanksOfWorker));
  MUSTER_RETURN_IF_ERROR(CheckRange("hello.first_rank", hello.first_rank(), kMostRanks - 1));
  MUSTER_RETURN_IF_ERROR(
      CheckSize("hello.worker.pod_uid", hello.worker().pod_uid().size(), kMaxName));
  MUSTER_RETURN_IF_ERROR(CheckSize("hello.host", hello.host().size(), kMaxName));
  return CheckSize("hello.version", hello.version().size(), kMaxName);
}

JobBounds BoundsOf(const v1alpha1::TrainingJobSpec& spec, int known) {
  const v1alpha1::WorkersSpec& workers = spec.workers();
  const int wanted = std::max(workers.count(), workers.max()) + workers.spares();
  return {.workers = std::clamp(std::max(wanted, known), 1, kMostWorkers),
          .ranks = std::clamp(planner::RanksOf(workers), 1, kMostRanksOfWorker)};
}

absl::Status Bound(const JobBounds& job, AgentMessage& message) {
  v1alpha1::CutTexts(message);
  switch (message.kind_case()) {
    case AgentMessage::kReady:
      return Bound(job, *message.mutable_ready());
    case AgentMessage::kJoined:
      return Bound(*message.mutable_joined());
    case AgentMessage::kSteps:
      MUSTER_RETURN_IF_ERROR(Check(message.steps().round()));
      for (v1alpha1::StepReport& step : *message.mutable_steps()->mutable_steps()) {
        MUSTER_RETURN_IF_ERROR(Bound(job, step));
      }
      return absl::OkStatus();
    case AgentMessage::kRankExited:
      return Check(job, message.rank_exited());
    case AgentMessage::kStalled:
      MUSTER_RETURN_IF_ERROR(Check(message.stalled().round()));
      MUSTER_RETURN_IF_ERROR(Check(message.stalled().version()));
      return CheckRange("stalled.local_rank", message.stalled().local_rank(), job.ranks - 1);
    case AgentMessage::kCheckpoint:
      return Bound(*message.mutable_checkpoint());
    case AgentMessage::kFinished:
      return Bound(*message.mutable_finished());
    case AgentMessage::kReplicas:
      return Check(message.replicas());
    case AgentMessage::kRefused:
      MUSTER_RETURN_IF_ERROR(Check(message.refused().order()));
      return Check(message.refused().seen());
    case AgentMessage::kHello:
    case AgentMessage::kHeartbeat:
    case AgentMessage::kNodeHello:
    case AgentMessage::kNodeReport:
    case AgentMessage::kNodePower:
    case AgentMessage::KIND_NOT_SET:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

}  // namespace muster::control
