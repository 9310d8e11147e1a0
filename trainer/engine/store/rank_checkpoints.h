#ifndef MUSTER_TRAINER_ENGINE_STORE_RANK_CHECKPOINTS_H_
#define MUSTER_TRAINER_ENGINE_STORE_RANK_CHECKPOINTS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/commit/commit_machine.h"
#include "trainer/commit/judge_item.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/trainer_settings.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/checkpoints.h"
#include "trainer/engine/store/rank_copies.h"
#include "trainer/engine/store/state_copies.h"

namespace muster::trainer {

// One rank's use of its job's checkpoint directory and of its own copies in memory: whether
// training may begin with the directory, when a save is due, and which step of this round is saved.
// A save that fails does not stop training: the error is reported, and the next save tries again.
// Not thread-safe.
class RankCheckpoints {
 public:
  // All must outlive it. If `directory` is null, nothing is saved and nothing can be loaded; if
  // `copies` is null, nothing is copied.
  RankCheckpoints(Checkpoints* directory, StateCopies* copies, TrainingState& state, Outbox& outbox,
                  PhaseTimer& timer, const Clock& clock);
  ~RankCheckpoints();

  void SetKeep(int keep);
  // Adds the complete checkpoints, with the error of their listing, and the copies to this rank's
  // position.
  void AddTo(v1alpha1::RankPosition& position);

  // Claim() and CheckWritable() run before the first step, so that no state is trained that cannot
  // be saved.
  //
  // InvalidArgument if a new run could never claim the directory, which is bad input.
  absl::Status Claim(const v1alpha1::ResumePoint& resume);
  // Unavailable if the directory cannot be written now, so that the job waits until it can. A round
  // that resumes from the ranks' memory (LIVE or MEMORY) does not wait, because that state is worth
  // more: the error is only reported. Local rank 0 answers for its machine.
  absl::Status CheckWritable(const v1alpha1::ResumePoint& resume, int local_rank);
  // Checks that all ranks of a new run see one directory: with different directories of one path,
  // no checkpoint would ever be complete. Called by all ranks of the round once they are connected.
  // InvalidArgument on each rank that does not see rank 0's mark within `patience`; Aborted when
  // `interrupt` is raised. Does nothing in other rounds: all their ranks have seen what they resume
  // from.
  absl::Status CheckShared(const v1alpha1::RoundId& round, const v1alpha1::ResumePoint& resume,
                           Communicator& communicator, absl::Duration patience,
                           const std::atomic<bool>& interrupt);
  // Loads the checkpoint of `plan`. Names it in `bad_checkpoint` if it is damaged, so that no later
  // round tries it.
  absl::Status Load(const RestorePlan& plan, std::string& bad_checkpoint);
  // Replaces the state, and the slice that it holds, by this rank's copy in memory.
  absl::Status LoadCopy(const RestorePlan& plan);
  // Compares what this rank holds with the checkpoint of exactly the applied version; kNone if no
  // such checkpoint can be read.
  Proof Prove();
  // Returns the bytes that the last round's loading read from a checkpoint or a copy.
  int64_t loaded_bytes() const { return loaded_bytes_; }
  // This rank's copies in memory.
  RankCopies& copies() { return copies_; }
  // Call on the first rank once every rank has the state that it goes on from. Moves checkpoints of
  // abandoned runs out of the way. One that cannot be moved does no harm: it is of another history
  // or attempt, and is moved when its name is needed.
  void SetAside(const v1alpha1::RoundId& round);
  // Announces saves by this writer.
  void Expect(const CheckpointWriterId& writer);

  // Returns true if the interval by time is over.
  bool IntervalIsOver(const TrainerSettings& settings) const;
  // Returns true if a save is due after this step by the interval in steps.
  static bool IsDue(const TrainerSettings& settings, int64_t step);
  // Returns true while a checkpoint is being written.
  bool IsWriting() const;
  // Starts to save the applied step. It is copied while the next step is computed, at the latest
  // before the state changes. Only logs an error while IsWriting().
  void Save(const CheckpointWriterId& writer);
  // Call when the applied step is not saved because a rank still writes an earlier checkpoint. Logs
  // why, on the first rank and on those that write: each time if the save is skipped; once for each
  // earlier checkpoint if it is `postponed`, because it is then due again after the next step. The
  // first rank also reports a failure, once, if its write of the earlier checkpoint is in trouble.
  void HoldBack(const CheckpointWriterId& writer, bool postponed);
  // Saves the applied step unless HasSaved(). Waits first for an earlier checkpoint that is still
  // being written. Aborted when `interrupt` is raised.
  absl::Status SaveAtEnd(const CheckpointWriterId& writer, const std::atomic<bool>& interrupt);
  // Call when `round` is over, no other round will come, and the applied version must be saved. The
  // remaining ranks save it, each shard by one of the ranks that hold it, and wait for at most
  // `patience` until it is complete. OK if there is nothing to save. Aborted when `interrupt` is
  // raised.
  absl::Status SaveAfterRound(const v1alpha1::RoundId& round, absl::Duration patience,
                              const std::atomic<bool>& interrupt);
  // Saves without the other ranks; returns when the checkpoint is written or has failed.
  void SaveAlone(const v1alpha1::RoundId& round);
  // Waits for a while after a save that failed. Aborted when `interrupt` is raised.
  absl::Status WaitToTryAgain(const std::atomic<bool>& interrupt);
  // Returns true if the applied step was saved in this round, or loaded for it; it may still be
  // being written. The same on all ranks.
  bool HasSaved() const;
  // Waits for this rank's own share, but not for ranks that are lost meanwhile. Aborted when
  // `interrupt` is raised.
  absl::Status WaitUntilWritten(const std::atomic<bool>& interrupt);
  // Returns the version of the present weights if it is on disk.
  std::optional<v1alpha1::Version> Durable() const;

  // Call when this rank leaves a round.
  void EndRound();

 private:
  void FinishCopy();
  absl::Status AwaitMark(const v1alpha1::RoundId& round, absl::Duration patience,
                         const std::atomic<bool>& interrupt);
  void ReportFailed(const v1alpha1::Version& version, const std::string& history,
                    const std::string& why);

  Checkpoints* const directory_;
  RankCopies copies_;
  TrainingState& state_;
  Outbox& outbox_;
  PhaseTimer& timer_;
  const Clock& clock_;
  int64_t saved_step_ = -1;  // the step saved in this round, or loaded for it; -1: none
  absl::Time saved_at_;
  // The earlier save that holds back others, and what was logged and reported about it.
  struct InTheWay {
    int64_t step = 0;
    bool told = false;
    bool reported = false;
  };
  std::optional<InTheWay> in_the_way_;
  int64_t loaded_bytes_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_RANK_CHECKPOINTS_H_
