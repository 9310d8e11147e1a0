#ifndef MUSTER_TRAINER_ENGINE_STORE_RANK_COPIES_H_
#define MUSTER_TRAINER_ENGINE_STORE_RANK_COPIES_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/trainer_settings.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/copy_choice.h"
#include "trainer/engine/store/state_copies.h"

namespace muster::trainer {

// Decides for one rank whether the state is copied in memory in a round, and after which steps, and
// loads its copies. A copy that fails does not stop training. Not thread-safe.
class RankCopies {
 public:
  // All must outlive it. If `copies` is null, nothing is copied.
  RankCopies(StateCopies* copies, TrainingState& state, PhaseTimer& timer, const Clock& clock);

  // Call before the state changes.
  void FinishCopy();
  // Adds the complete copies to this rank's position.
  void AddTo(v1alpha1::RankPosition& position);
  // Replaces the state, and the slice that it holds, by the copy of `version`; returns the bytes
  // that were read.
  absl::StatusOr<int64_t> Load(const v1alpha1::Version& version);
  // Call when the round has its state. Decides whether it is copied in this round: if the copies do
  // not fit into the memory that the job has for them, a new run fails with InvalidArgument, and a
  // resumed run goes on without copies. Copies the state at once if it is due and there is no copy
  // of it, as after a relayed step.
  absl::Status BeginRound(const TrainerSettings& settings, const v1alpha1::ResumePoint& resume,
                          const v1alpha1::RoundId& round);

  // The agent's newest report about the replicas of this rank's copies in this round.
  using Replica = std::optional<v1alpha1::ReplicaReport>;
  // Call before each step; `saving` says whether a checkpoint is being written. If this step will
  // be copied at a fixed interval, for which ranks do not ask, waits until the previous copy is
  // complete.
  void BeforeStep(const TrainerSettings& settings, bool saving, const Replica& replica);
  // Call at the vote. Returns true if this rank asks for a copy after the step, which is made if
  // all ranks ask. The previous copy is then complete on this rank and, if it is being streamed, at
  // the peer.
  bool Asks(const TrainerSettings& settings, const Replica& replica) const;
  // Call after each step. Copies the state if a fixed interval is over, or if all ranks asked for a
  // copy.
  void CopyIfDue(const TrainerSettings& settings, const v1alpha1::RoundId& round, bool asked);

 private:
  bool MayCopy(const TrainerSettings& settings, int64_t step) const;
  bool IsCopied(const TrainerSettings& settings, int64_t step) const;
  void Copy(const v1alpha1::RoundId& round);
  void LogInterval(const TrainerSettings& settings);

  StateCopies* const copies_;
  TrainingState& state_;
  PhaseTimer& timer_;
  const Clock& clock_;
  bool fit_ = false;
  int64_t copied_step_ = 0;
  CopyPace pace_;
  absl::Time step_began_;
  CopyPace::Beside beside_ = CopyPace::Beside::kNothing;  // the step that began last
  int64_t logged_interval_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_RANK_COPIES_H_
