#ifndef MUSTER_AGENT_CORE_WORKER_MACHINE_H_
#define MUSTER_AGENT_CORE_WORKER_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "agent/core/rank_slot.h"
#include "agent/core/report_buffer.h"
#include "agent/core/worker_event.h"
#include "agent/core/worker_settings.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

// The worker agent's state machine: obeys the operator's orders, drives the local ranks through
// rounds and ends them all before it ends. Pure: events and the time go in, actions come out.
//
// clang-format off
// Invariants:
// - A local rank never has two processes; a new one is launched after the old one's RankEnded.
// - Orders lower than the highest (term, round) obeyed are refused, and no report concerns a round
//   that is no longer the current one.
// - ExitAgent is emitted once, when no process is left, and is the last action.
//
// Phases. Being attached to an operator is independent of them.
//   Waiting    no round, or its round is broken: waits for Prepare
//   Preparing  ranks abort work in flight and report their state; then it waits for Go
//   Joining    ranks form communicators
//   Running    ranks step
//   Finished   all ranks have ended their work
//   Stopping   ranks are being ended
//   Ended      no process is left
// clang-format on
//
// Not thread-safe. Times are monotonic; where a replacement may be started on another machine, they
// include the time in which this machine is suspended.

namespace muster::agent {

class WorkerMachine {
 public:
  enum class Phase { kWaiting, kPreparing, kJoining, kRunning, kFinished, kStopping, kEnded };

  WorkerMachine(WorkerConfig config, absl::Time now);

  std::vector<Action> Handle(const Event& event, absl::Time now);

  Phase phase() const { return phase_; }
  bool attached() const { return attached_; }
  // Empties the reports that no operator has been sent: call it at the end.
  std::vector<v1alpha1::AgentMessage> TakeUnsent() { return buffer_.Take(); }
  // The highest (term, round) obeyed.
  const v1alpha1::RoundId& seen() const { return seen_; }
  // True for jobs of the built-in trainer; false before Welcome and for jobs with a command.
  bool runs_trainer() const { return settings_.has_value() && settings_->spec.has_trainer(); }
  // True if the round's spec wants copies of the state in memory.
  bool keeps_copies() const { return runs_trainer() && round_spec_.checkpoint().has_memory(); }
  // Absent before the first Welcome.
  const std::optional<WorkerSettings>& settings() const { return settings_; }

 private:
  // The reason why the ranks are being ended.
  enum class StopCause { kOrder, kSignal, kOrphaned };

  void On(const StreamOpened&);
  void On(const StreamClosed& event);
  void On(const OperatorMessageReceived& event);
  void On(const RankMessageReceived& event);
  void On(const RankLinkClosed& event);
  void On(const RankEnded& event);
  void On(const PortReserved& event);
  void On(const ReplicasChanged& event);
  void On(const ReplicasFetched&);
  void On(const ReplicaReported& event);
  void On(const Terminate& event);
  void On(const Tick&);

  void OnWelcome(const v1alpha1::Welcome& welcome);
  // Starts the ranks of a trainer before the first round, so that it does not wait for them.
  void StartEarly();
  // Returns true while ranks that are started early have not all loaded.
  bool IsLoading() const;
  void Heartbeat();
  void OnPrepare(const v1alpha1::PrepareRound& prepare);
  void OnGo(const v1alpha1::GoRound& go);
  void OnStop(const v1alpha1::StopWorker& stop);
  void OnSave(const v1alpha1::SaveCheckpoint& save);
  void OnReplicate(const v1alpha1::ReplicateCopies& replicate);
  void OnToDisk(const v1alpha1::CopyToDisk& order);
  void OnTune(const v1alpha1::TuneRun& tune);
  void OnCheckpoint(const v1alpha1::CheckpointReport& report);
  void OnReady(RankSlot& slot, const v1alpha1::TrainerReady& ready);
  void OnJoined(RankSlot& slot, const v1alpha1::WorkerJoined& joined);
  void NoteRestored(v1alpha1::WorkerJoined& joined) const;
  void OnStalled(RankSlot& slot, const v1alpha1::RankStalled& stalled);
  void OnFinished(RankSlot& slot, const v1alpha1::TrainerFinished& finished);
  void OnCommandEnded(RankSlot& slot, const RankEnded& event);
  // Handles the message of a command's rank whose script uses the client.
  void OnCommandMessage(RankSlot& slot, const v1alpha1::FromTrainer& message);
  void AddCommandSteps(RankSlot& slot, const v1alpha1::StepReports& reports);
  // Sends the steps collected so far if the last batch was long enough ago or `now` is true.
  void FlushCommandSteps(bool now);
  void FlushCommandSaved(bool now);
  // True if a command's rank asks for notices, so that it is worth while to wait for it.
  bool CommandHearsNotices() const;
  // Tells a rank of a command, if it hears notices, that it has until `deadline` to save and end.
  void TellToLeave(RankSlot& slot, absl::Time deadline);
  void OnRankFailed(RankSlot& slot, const RankEnded& event);

  // The work is done, and the result is recorded.
  bool HasSucceeded() const { return finished_.has_value() && finished_->succeeded(); }
  bool RunsCommand() const { return settings_.has_value() && !runs_trainer(); }
  // Reports that an order was refused.
  void Refuse(const v1alpha1::RoundId& order, const std::string& reason);
  std::string WhyNotPrepare(const v1alpha1::PrepareRound& prepare) const;
  void AdoptRound(const v1alpha1::PrepareRound& prepare);
  // `knows_end`: the operator knows that ranks have failed for good, and wants another attempt.
  void PrepareTrainers(bool fresh, bool knows_end);
  void PrepareCommand();
  // Serves replicas, and copies on the node's disk, if `spec` wants them.
  void ServeReplicas(const v1alpha1::TrainingJobSpec& spec);
  // Before the first round of the ranks there is nothing in memory to go on from: looks on the disk
  // of the node, and asks the agents that keep copies of the worker that had the ranks.
  void FetchReplicas(const v1alpha1::PrepareRound& prepare);
  // Tells a rank where the replicas are that it can read: those of the rank of a worker kept here
  // that has the same local rank.
  void AddReplicaFolders(int local_rank, v1alpha1::TrainerPrepare& prepare) const;
  void ReportReadyIfComplete();
  void LaunchCommand(const v1alpha1::GoRound& go);
  // Requests a process for `slot`, now or after `delay`.
  void WantProcess(RankSlot& slot, absl::Duration delay);
  void Launch(RankSlot& slot, const std::string& master_endpoint);
  void SendPrepare(RankSlot& slot);
  void Kill(RankSlot& slot, int signal, KillReason reason);
  // Sends SIGTERM, and SIGKILL after `grace`.
  void EndGracefully(RankSlot& slot, KillReason reason, absl::Duration grace);
  void ForgiveSilence(absl::Duration gap);
  bool CountsFreezes() const { return RunsCommand() && !config_.shares_machine; }
  void NoteFreeze(absl::Time awake);
  void EndAtOnce(const std::string& reason);
  bool IsSilent(const RankSlot& slot) const;
  void WatchSlot(RankSlot& slot);
  void FinishWorker(bool succeeded, int exit_code, const std::string& message);
  void FinishIfComplete();

  void BeginStop(StopCause cause, bool save, int exit_code, const std::string& reason);
  void StopCommand(bool may_save, bool was_running);
  void AdvanceStop();
  void EndRanks(absl::Duration grace);
  // Bounds the time of a command that stops.
  absl::Duration BeforeFence(absl::Duration grace) const;
  bool StopIsDone() const;
  bool AnyAlive() const;

  // Sends `message` within the limits of agent_limits.h, in several if need be.
  void Say(v1alpha1::AgentMessage message);
  // Sends a report to the operator, or buffers it until one is attached.
  void Report(v1alpha1::AgentMessage message);
  // Reports that follow from the present state are not buffered but repeated after every Welcome.
  void ReportState();
  template <typename T>
  void ReportIfAttached(const T& state);
  void ToRank(const RankSlot& slot, v1alpha1::ToTrainer message);
  template <typename T>
  void Do(T action) {
    actions_.push_back(std::move(action));
  }

  const WorkerConfig config_;
  std::optional<WorkerSettings> settings_;
  Phase phase_ = Phase::kWaiting;
  std::vector<RankSlot> slots_;  // by local rank

  // State of the stream.
  bool attached_ = false;  // a Welcome was received on this stream
  int64_t term_ = 0;       // of the newest Welcome
  absl::Time detached_at_;
  absl::Time next_heartbeat_;
  bool said_loading_ = false;  // in the newest hello or heartbeat
  ReportBuffer buffer_;

  // State of the round, which has number 0 before the first.
  v1alpha1::RoundId seen_;
  v1alpha1::RoundId round_;
  int first_rank_ = 0;
  int world_size_ = 0;
  int group_rank_ = 0;
  int group_world_size_ = 0;
  // The spec that the ranks train by, as the operator sent it with the round; before the first
  // round that with which they were started.
  v1alpha1::TrainingJobSpec round_spec_;
  std::string trajectory_;
  std::string secret_;  // of round_; never logged
  absl::Time prepare_deadline_;
  int port_ = 0;  // reserved for this round's store, for a job's own command
  bool port_asked_ = false;
  std::optional<v1alpha1::WorkerReady> ready_;
  std::optional<v1alpha1::WorkerJoined> joined_;
  std::optional<v1alpha1::WorkerFinished> finished_;
  // The replicas of others' copies here, and the copies on the disk; absent before they are served.
  std::optional<v1alpha1::ReplicasKept> kept_;
  std::vector<int> replicas_in_memory_;  // the workers whose replicas are in memory
  // Ranks are not asked for their positions while their copies are being fetched.
  bool fetching_ = false;
  int failure_code_ = 0;  // of the last failed rank; 0 once a later round runs
  // Steps that a command has reported and the operator has not been sent yet.
  v1alpha1::StepReports command_steps_;
  absl::Time command_steps_sent_ = absl::InfinitePast();
  // The newest checkpoint that the command reported soon after another.
  std::optional<v1alpha1::CheckpointReport> command_saved_;
  absl::Time command_saved_sent_ = absl::InfinitePast();

  // State of the stop.
  StopCause stop_cause_ = StopCause::kOrder;
  bool job_has_ended_ = false;  // with success, as far as this worker is concerned
  absl::Time stop_deadline_;
  bool waits_for_save_ = false;
  bool ending_ranks_ = false;
  int signals_ = 0;
  int exit_code_ = 0;
  std::string exit_reason_;

  // Valid inside Handle.
  absl::Time now_;
  absl::Time last_tick_;
  absl::Time last_event_;
  std::vector<Action> actions_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_WORKER_MACHINE_H_
