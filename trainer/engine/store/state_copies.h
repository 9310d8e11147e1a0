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
#include "base/files/files.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/writer.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/copy_folder.h"

namespace muster::trainer {

// Copies of one rank's part of the state, in a folder of memory that outlives its process: a
// restarted rank loads its part from there, without the other ranks. A copy is a checkpoint
// directory of one writer with the rank's slices, so an incomplete copy is never listed, and
// checksums are verified when it is read. It is not a checkpoint of the job: only this rank and its
// agent read the folder.
//
// Two copies are kept. Before the vote on a step that will be copied, every rank makes sure that
// its previous copy is complete: it calls Await(), or asks for the copy only when idle(). Once that
// step is committed, the previous copy is therefore complete on every rank, and only then is an
// older one removed. A copy that fails for want of memory breaks this rule until the next one: a
// failure in between goes back to a checkpoint.
//
// Not thread-safe; a thread of its own copies and writes.
class StateCopies {
 public:
  struct Job {
    std::string name;  // namespace/name
    std::string uid;
    std::string chunks = {};  // ChunksOf(): other copies are not of use
  };

  // `files` and `clock` must outlive it. The folder is made when it is needed.
  StateCopies(Files& files, const Clock& clock, std::string folder, Job job);

  // Returns the complete copies, newest first.
  std::vector<v1alpha1::StateCopy> List();
  // Returns true if there is a complete copy of `version`.
  bool Has(const v1alpha1::Version& version);
  // Announces copies of states of this size, so that memory for them is prepared in the background.
  void Expect(const TrainingState& state);
  // Call when a round has begun with `state`. Removes incomplete copies of an earlier process,
  // copies that the round does not build on (of another history, or newer than `state`), and a copy
  // of the same version whose slice is of an earlier layout: without the slices of lost ranks it is
  // of no use.
  void BeginRound(const TrainingState& state);
  // Returns when the copy that was begun last is complete, or has failed.
  void Await();
  // Returns true if no copy is being made.
  bool idle() const { return !writer_.busy(); }
  // Returns the version of the newest copy; nullopt without copies, or if the last copy begun has
  // failed. Call only when idle().
  std::optional<v1alpha1::Version> newest() const { return complete_ ? newest_ : std::nullopt; }
  // Begins to copy the applied step. If the state announces its changes and is on the CPU, the copy
  // is taken in the background until FinishCopy() returns; else Save() returns after it.
  absl::Status Save(const TrainingState& state, const v1alpha1::RoundId& round);
  // Call before the state changes.
  void FinishCopy() { writer_.FinishCopy(); }
  // Makes `state` hold the slice of the copy of `version`, with its values, and returns the bytes
  // read. DataLoss if the copy is missing or a checksum does not match: it is then removed.
  // NotFound if the copy of that step is of another attempt, FailedPrecondition if it is of another
  // model or optimizer. After any other error the copy may still be good: it is listed again until
  // that has happened three times. After an error the contents of `state` are undefined.
  absl::StatusOr<int64_t> Load(const v1alpha1::Version& version, TrainingState& state);

  // Returns the most bytes that the copies of such a state take: two versions, and a third one
  // while it is written.
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
  // A copy was begun in this round. Once it is complete here and the next one is due, it is
  // complete on all ranks.
  bool begun_in_round_ = false;
  std::optional<v1alpha1::Version> newest_;  // begun last, or found when the round began
  std::atomic<bool> complete_ = false;       // whether it is complete; set by the writer's thread
  CheckpointWriter writer_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_STATE_COPIES_H_
