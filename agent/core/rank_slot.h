#ifndef MUSTER_AGENT_CORE_RANK_SLOT_H_
#define MUSTER_AGENT_CORE_RANK_SLOT_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "base/backoff.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::agent {

// Why the agent ends a rank's process. Only the first two are failures.
enum class KillReason { kNone, kSilent, kLinkLost, kReplaced, kStopping };

// One local rank and its process, if any. Data of WorkerMachine.
struct RankSlot {
  int local_rank = 0;

  // The process.
  bool alive = false;
  int generation = 0;
  int restarts = 0;
  absl::Time launched_at;
  absl::Time heard_at;
  bool said_hello = false;
  KillReason kill_reason = KillReason::kNone;
  absl::Time kill_at = absl::InfiniteFuture();  // SIGKILL is due
  bool kill_sent = false;                       // SIGKILL, by us

  // A launch that is due at launch_at, after a back-off.
  bool wanted = false;
  absl::Time launch_at;
  int short_lives = 0;  // in a row, of its processes

  // The round.
  std::optional<v1alpha1::RankReady> ready;
  bool joined = false;
  // Its work is done: TrainerFinished, or a command that ended with 0. May still be alive.
  bool finished = false;
  bool succeeded = false;
  std::string message;  // why not
  v1alpha1::Version version;
  std::optional<v1alpha1::Version> durable;
  v1alpha1::PhaseTimes times;

  void ResetRound() {
    ready.reset();
    joined = finished = succeeded = false;
  }

  // How long to wait before the next process: nothing after a decent life or for the first time,
  // so that a program that cannot start does not spin.
  absl::Duration NextBackoff(absl::Time now, const BackoffBounds& bounds) {
    if (now - launched_at > absl::Seconds(10)) short_lives = 0;
    return BackoffAfter(short_lives++, bounds);
  }
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_RANK_SLOT_H_
