#ifndef MUSTER_TRAINER_ENGINE_STORE_STATE_COPIES_H_
#define MUSTER_TRAINER_ENGINE_STORE_STATE_COPIES_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/files.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/engine/link/copy_folder.h"
#include "trainer/engine/state/training_state.h"

namespace muster::trainer {

// Copies of one rank's part of the state, in a folder of memory that outlives its process: a rank
// that is started again loads its part from there, without the others. A copy is a checkpoint
// directory of one writer that holds the rank's slices, so it is complete or not there, and what is
// read of it is checked. It is no checkpoint of the job: nobody else looks into the folder.
//
// Two copies are kept. Every rank sees to it before the vote on a step that it will copy that the
// copy before it is complete: it calls Await(), or asks for the copy only when idle(). Once that
// step is committed, the copy before it is complete on every rank; only then is an older one
// removed. A rank that could not make a copy, for want of memory, breaks this for one interval: a
// failure then goes back to a checkpoint.
//
// Not thread-safe; a thread of its own copies and writes.
class StateCopies {
 public:
  struct Job {
    std::string name;  // namespace/name
    std::string uid;
  };

  // `files` and `clock` must outlive it. The folder is made when it is needed.
  StateCopies(Files& files, const Clock& clock, std::string folder, Job job);

  // Returns the complete copies, newest first.
  std::vector<v1alpha1::StateCopy> List();
  // Returns true if there is a complete copy of `version`.
  bool Has(const v1alpha1::Version& version);
  // Announces copies of such a state: memory for them is made ready in the background.
  void Expect(const TrainingState& state);
  // Call when a round has begun with `state`: removes what the round does not build on, copies that
  // an earlier process did not complete, and a copy of the state's version whose slice is that of
  // an earlier layout: with those of ranks that are gone it would cover nothing.
  void BeginRound(const TrainingState& state);
  // Returns when the copy that was begun last is complete, or has failed.
  void Await();
  // Returns true if no copy is being made.
  bool idle() const { return !writer_.busy(); }
  // Returns the version of the newest copy; nullopt if there is none, or if the one that was begun
  // last has failed. Call only when idle().
  std::optional<v1alpha1::Version> newest() const { return complete_ ? newest_ : std::nullopt; }
  // Begins to copy the applied step, in the background until FinishCopy() has returned if the state
  // announces its changes.
  absl::Status Save(const TrainingState& state, const v1alpha1::RoundId& round);
  // Call before the state changes.
  void FinishCopy() { writer_.FinishCopy(); }
  // Makes the state hold the slice of the copy of `version`, with its values, and returns their
  // bytes. After an error what the state holds means nothing. NotFound if there is none; DataLoss
  // if its bytes are not those that were copied, and it is removed then; FailedPrecondition if it
  // is of another model or optimizer. After any other error the copy may still be good: it is
  // listed again until that has happened three times.
  absl::StatusOr<int64_t> Load(const v1alpha1::Version& version, TrainingState& state);

  // Returns the room that the copies of such a state take at most: those of two versions while a
  // third is written.
  static int64_t RoomFor(const TrainingState& state);

 private:
  absl::StatusOr<int64_t> LoadFrom(const std::string& path, const v1alpha1::Version& version,
                                   TrainingState& state);
  std::string PathOf(int64_t step) const;
  void RemoveAllBut(const std::vector<std::string>& kept);

  Files& files_;
  const std::string folder_;
  const Job job_;
  FailedCopies failed_;
  // A copy was begun in this round. Once it is complete here and another one is due, it is complete
  // everywhere.
  bool begun_in_round_ = false;
  std::optional<v1alpha1::Version> newest_;  // begun last, or found when the round began
  std::atomic<bool> complete_ = false;       // that one; set by the writer's thread
  CheckpointWriter writer_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_STATE_COPIES_H_
