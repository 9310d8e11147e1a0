#ifndef MUSTER_TRAINER_ENGINE_TRAINER_H_
#define MUSTER_TRAINER_ENGINE_TRAINER_H_

#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/comm/link_speeds.h"
#include "trainer/commit/commit_machine.h"
#include "trainer/data/batch_feed.h"
#include "trainer/data/data_digest.h"
#include "trainer/engine/link/heartbeat.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_mesh.h"
#include "trainer/engine/link/round_network.h"
#include "trainer/engine/link/trainer_settings.h"
#include "trainer/engine/run_config.h"
#include "trainer/engine/state/initial_weights.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/step_reporter.h"
#include "trainer/engine/store/checkpoints.h"
#include "trainer/engine/store/kept_replicas.h"
#include "trainer/engine/store/rank_checkpoints.h"
#include "trainer/engine/store/state_copies.h"
#include "trainer/logs/event_log.h"

namespace muster::trainer {

// The data that is kept for validation.
struct ValidationData {
  int batches = INT_MAX;       // number of micro-batches there are
  double unigram_entropy = 0;  // nats per token; reported beside the loss
};

// One rank's part in the life of a job, driven by its agent's orders:
//
//   holding --Prepare--> holding (answers Ready) --Go--> stepping --last step or stop--> finished
//      ^------------------ a failed collective, a newer Prepare ------'                     |
//      '------------------ Prepare (another rank was lost before it had finished) ---------'
//
// A Go with a link test may have it wait between joining and stepping, for a second Go.
//
// A survivor never exits: it unwinds to holding with its state and waits for the next round. Not
// thread-safe; all blocking ends by a Prepare's arrival in the inbox.
class Trainer {
 public:
  // All of these must outlive the trainer. If `checkpoints` is null, nothing is saved.
  struct Parts {
    TrainingState& state;
    BatchFeed& feed;
    RoundNetwork& network;
    Checkpoints* checkpoints;
    Inbox& inbox;
    Outbox& outbox;
    EngineProgress& progress;
    PhaseTimer& timer;
    const Clock& clock;
    ValidationData validation = {};
    // If null, the state is not copied in memory.
    StateCopies* copies = nullptr;
    // If null, no replicas of other ranks' copies are kept here.
    KeptReplicas* replicas = nullptr;
    // Compares the ranks' data; null: they are not compared.
    DataDigester* data = nullptr;
    // The weights that a run begins with; null: random ones.
    InitialWeights* initial = nullptr;
    // Writes the run's curves while this rank is the first; null: no rank does.
    EventLog* events = nullptr;
    // Reads the spec that a round brings; without it every round trains by the first one.
    SpecReader read_spec = nullptr;
    // Without it a round of any size is joined.
    RoundFitCheck fits = nullptr;
  };
  Trainer(const TrainerSettings& settings, const Parts& parts);
  ~Trainer();

  // Obeys waiting orders, then runs one step or waits for an order. Returns false when the agent is
  // gone or training cannot go on.
  bool RunOnce();
  // Returns 0 unless an error of this rank's own (data, model) or too many skipped steps ended
  // training.
  int exit_code() const { return exit_code_; }

 private:
  enum class State { kHolding, kJoined, kStepping, kFinished };

  void Obey(const v1alpha1::ToTrainer& message);
  void OnPrepare(const v1alpha1::TrainerPrepare& prepare);
  absl::Status Adopt(const v1alpha1::TrainerPrepare& prepare);
  void OnGo(const v1alpha1::GoRound& go);
  void OnSave();
  void OnTune(const v1alpha1::TuneRun& tune);
  void OnStop(const v1alpha1::TrainerStop& stop);
  absl::Status CheckCanSave(const v1alpha1::ResumePoint& resume);
  absl::Status CheckShared(const v1alpha1::ResumePoint& resume);
  absl::Status Join(const v1alpha1::GoRound& go, v1alpha1::WorkerJoined& joined);
  absl::Status CheckData(const v1alpha1::ResumePoint& resume);
  absl::Status CompareStates(const v1alpha1::ResumePoint& resume, v1alpha1::WorkerJoined& joined);
  absl::Status CompareIfDue();
  absl::Status TestLinks(const v1alpha1::GoRound& go);
  // Waits for an order, or until the time in which one is to come is over.
  bool AwaitStart();
  void BeginSteps();
  absl::Status BeginCopies(const v1alpha1::ResumePoint& resume);
  void NoteRestored(const v1alpha1::ResumePoint& resume, v1alpha1::WorkerJoined& joined) const;
  absl::Status LoadInitial();
  absl::Status Transfer(const v1alpha1::ResumePoint& resume);
  void KeepTunings();
  absl::Status Restore(const RestorePlan& plan, const v1alpha1::ResumePoint& resume,
                       std::string& bad_checkpoint);

  void StepOnce();
  v1alpha1::StepReport ReportOf(const v1alpha1::StepDecision& decision);
  v1alpha1::StepReport ReportOf(const StepOutcome& outcome);
  void Report(v1alpha1::StepReport report);
  absl::StatusOr<std::optional<double>> AfterStep(const StepOutcome& outcome);
  void SaveIfDue(const StepOutcome& outcome);
  absl::Status EndRun(const std::string& message, bool ordered);
  absl::Status SaveAtStop();
  absl::Status AwaitRoom();
  absl::Status SaveAfterRound(const std::atomic<bool>& interrupt);
  void StopAfterRound(bool save);
  std::string SaveBeforeBadInput(const absl::Status& error);
  void GiveUp(const std::string& why);
  void EndAtSpike(const v1alpha1::StepDecision& decision);
  bool DiskFailsAgain() const;
  void Stall(const absl::Status& error);
  void Finish(bool succeeded, const std::string& message);
  void LeaveRound();

  CheckpointWriterId Writer() const {
    return {.round = round_,
            .rank = rank_,
            .world_size = world_size_,
            .context = mesh_ == nullptr ? 1 : mesh_->shape().context};
  }
  bool IsFirst() const { return rank_ == 0; }

  TrainerSettings settings_;
  const Parts parts_;
  Engine engine_;
  StepReporter reporter_;
  RankCheckpoints checkpoints_;

  State state_ = State::kHolding;
  v1alpha1::RoundId round_;  // the newest prepared
  int rank_ = 0;
  int world_size_ = 1;
  std::string trajectory_;           // of the spec adopted last
  absl::Status adopted_;             // why this rank cannot train by the round's spec, or OK
  std::unique_ptr<RoundMesh> mesh_;  // null between rounds
  bool save_ordered_ = false, stop_ordered_ = false;  // until the ranks act on it
  int exit_code_ = 0;
  absl::Duration restore_time_;    // of the newest round
  int64_t received_bytes_ = 0;     // of the newest round, from the memory of other ranks
  std::vector<LinkSpeed> links_;   // as measured at the start of the newest round
  absl::Time start_by_;            // while kJoined
  bool is_undecided_ = false;      // the ranks differ, and nothing tells who is right
  bool has_news_ = false;          // the round's state is perhaps on no disk
  v1alpha1::PhaseTimes reported_;  // the times that the reports so far covered
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TRAINER_H_
