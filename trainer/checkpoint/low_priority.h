#ifndef MUSTER_TRAINER_CHECKPOINT_LOW_PRIORITY_H_
#define MUSTER_TRAINER_CHECKPOINT_LOW_PRIORITY_H_

namespace muster::trainer {

// Puts the calling thread below the ranks' own threads, so that a save takes idle time only: it
// never preempts one when it wakes, and its reads and writes wait behind theirs. It does not use
// the idle class, in which a machine with a rank on every core would never finish a save. From now
// on the thread runs on core `cpu` only; -1: anywhere.
void LowerPriority(int cpu);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_LOW_PRIORITY_H_
