// The part of the worker machine that deals with copies beyond those of its ranks' memory: replicas
// of others' copies, which this agent keeps, of its own ranks' copies, which another keeps, and
// copies on the disk of the node.
#include <algorithm>

#include "agent/core/copies_layout.h"
#include "agent/core/worker_machine.h"
#include "base/byte_text.h"
#include "proto/muster/v1alpha1/memory_copies.h"
#include "proto/muster/v1alpha1/round_id.h"

namespace muster::agent {
namespace {

// The part of the operator's patience with a prepared round that may be spent on fetching; the rest
// is for the ranks to start.
constexpr double kShareOfPrepare = 0.5;

}  // namespace

void WorkerMachine::ServeReplicas(const v1alpha1::TrainingJobSpec& spec) {
  if (!WantsReplicas(spec) && !WantsCopiesOnDisk(spec)) return;
  const v1alpha1::MemoryCheckpointSpec& memory = spec.checkpoint().memory();
  // Half of the memory is for this worker's own copies.
  const int64_t room = WantsReplicas(spec) ? ParseBytes(memory.size()).value_or(0) / 2 : 0;
  Do(agent::ServeReplicas{room, memory.disk().path()});
}

void WorkerMachine::FetchReplicas(const v1alpha1::PrepareRound& prepare) {
  if (prepare.fresh()) return;
  const bool elsewhere = WantsReplicas(round_spec_) && !prepare.replicas_at().empty();
  if (!elsewhere && !WantsCopiesOnDisk(round_spec_)) return;
  fetching_ = true;
  // A spare takes the place of another worker.
  const int of = prepare.has_copies_of() ? prepare.copies_of() : config_.worker.index();
  Do(agent::FetchReplicas{of,
                          {prepare.replicas_at().begin(), prepare.replicas_at().end()},
                          kShareOfPrepare * settings_->prepare_deadline});
}

void WorkerMachine::AddReplicaFolders(int local_rank, v1alpha1::TrainerPrepare& prepare) const {
  if (!keeps_copies()) return;
  for (const int index : replicas_in_memory_) {
    prepare.add_replica_directories(
        CopiesOfRank(ReplicasOfWorker(config_.copies_directory, index), local_rank));
  }
}

void WorkerMachine::On(const ReplicasChanged& event) {
  kept_ = event.kept;
  replicas_in_memory_ = event.in_memory;
  ReportIfAttached(*kept_);
}

void WorkerMachine::On(const ReplicasFetched&) {
  fetching_ = false;
  if (phase_ != Phase::kPreparing || ready_.has_value()) return;
  for (RankSlot& slot : slots_) {
    if (slot.alive && slot.kill_reason == KillReason::kNone) SendPrepare(slot);
  }
}

// A rank whose process has ended hears nothing: the next one is in another round, in which its peer
// is named again.
void WorkerMachine::On(const ReplicaReported& event) {
  const RankSlot& slot = slots_[event.local_rank];
  if (phase_ != Phase::kRunning || !slot.alive) return;
  v1alpha1::ToTrainer message;
  *message.mutable_replica() = event.report;
  ToRank(slot, std::move(message));
}

void WorkerMachine::OnReplicate(const v1alpha1::ReplicateCopies& replicate) {
  if (!Same(replicate.round(), round_)) return;
  std::optional<v1alpha1::ReplicaPeer> peer;
  if (replicate.has_peer()) peer = replicate.peer();
  Do(ReplicateTo{std::move(peer)});
}

void WorkerMachine::OnToDisk(const v1alpha1::CopyToDisk& order) {
  if (Same(order.round(), round_)) Do(KeepOnDisk{order.from_step()});
}

}  // namespace muster::agent
