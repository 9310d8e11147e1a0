#ifndef MUSTER_TRAINER_COMMIT_DECIDE_SAVE_H_
#define MUSTER_TRAINER_COMMIT_DECIDE_SAVE_H_

namespace muster::trainer {

// The facts by which ranks decide whether they save after a step. All are of the vote or of the
// settings, so that they are the same on every rank.
struct SaveFacts {
  bool due = false;      // by the interval, in steps or in time
  bool ordered = false;  // some rank was told to save
  bool last = false;     // the run's last step
  bool stops = false;    // the ranks stop after the step
  bool writing = false;  // some rank still writes an earlier checkpoint
};

enum class SaveChoice {
  kNone,
  kNow,
  kHeldBack,  // the save has to go without waiting: training does not stop for slow storage
  kAtEnd,     // once the earlier one is written, for which the ranks wait
};

// Decides. A rank writes one checkpoint at a time, so that a save beside an earlier one would have
// to wait for it, for minutes if the storage fails. Only a save at the end waits. Pure.
SaveChoice DecideSave(const SaveFacts& facts);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_DECIDE_SAVE_H_
