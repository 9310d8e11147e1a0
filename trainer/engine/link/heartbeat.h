#ifndef MUSTER_TRAINER_ENGINE_LINK_HEARTBEAT_H_
#define MUSTER_TRAINER_ENGINE_LINK_HEARTBEAT_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "trainer/engine/link/link.h"

namespace muster::trainer {

// Holds the round and step that the engine is at, for the heartbeat to report. Thread-safe.
class EngineProgress {
 public:
  explicit EngineProgress(const Clock& clock) : clock_(clock), since_(clock.Monotonic()) {}
  void SetRound(const v1alpha1::RoundId& round);
  void SetStep(int64_t step);
  v1alpha1::FromTrainer Read() const;

 private:
  const Clock& clock_;
  mutable Mutex mu_;
  v1alpha1::RoundId round_ MUSTER_GUARDED_BY(mu_);
  int64_t step_ MUSTER_GUARDED_BY(mu_) = 0;
  absl::Time since_ MUSTER_GUARDED_BY(mu_);
};

// Sends heartbeats. Call RunOnce in a loop on a thread of its own, so that a computing process
// still sends them and only a stopped one falls silent.
class Heartbeat {
 public:
  Heartbeat(const EngineProgress& progress, Outbox& outbox)
      : progress_(progress), outbox_(outbox) {}
  void RunOnce() { outbox_.Send(progress_.Read()); }

 private:
  const EngineProgress& progress_;
  Outbox& outbox_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_LINK_HEARTBEAT_H_
