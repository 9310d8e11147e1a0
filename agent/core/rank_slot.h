#ifndef MUSTER_AGENT_CORE_RANK_SLOT_H_
#define MUSTER_AGENT_CORE_RANK_SLOT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/backoff.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"

namespace muster::agent {

// The reason why the agent ends a rank's process. Only kSilent and kLinkLost are failures.
enum class KillReason { kNone, kSilent, kLinkLost, kReplaced, kStopping };

// One local rank and its process, if any. Owned by WorkerMachine.
struct RankSlot {
  int local_rank = 0;

  // State of the process.
  bool alive = false;
  int generation = 0;
  int restarts = 0;
  absl::Time launched_at;
  absl::Time last_message_at;
  // The trainer has loaded. A command says hello if it wants to hear notices.
  bool got_hello = false;
  // When a command reported a step last.
  std::optional<absl::Time> reported_at;
  KillReason kill_reason = KillReason::kNone;
  absl::Time kill_at = absl::InfiniteFuture();  // when SIGKILL is due
  bool kill_sent = false;                       // the agent sent SIGKILL

  // A launch is due at launch_at, after a backoff.
  bool wanted = false;
  absl::Time launch_at;
  int short_lives = 0;  // consecutive processes that ended soon after their launch

  // State of the round.
  std::optional<v1alpha1::RankReady> ready;
  bool joined = false;
  int64_t restored_bytes = 0;  // as it said when it joined
  double restore_seconds = 0;
  std::vector<v1alpha1::LinkSpeed> links;
  // The work is done: TrainerFinished arrived, or the command exited with 0. It may still be alive.
  bool finished = false;
  bool succeeded = false;
  std::string message;  // the reason if it did not succeed
  v1alpha1::Version version;
  std::optional<v1alpha1::Version> durable;
  v1alpha1::PhaseTimes times;

  void ResetRound() {
    ready.reset();
    joined = finished = succeeded = false;
  }

  // Returns the delay before the next process: zero for the first one and after a life of more than
  // 10 s, growing otherwise, so that a program that cannot start does not spin.
  absl::Duration NextBackoff(absl::Time now, const BackoffBounds& bounds) {
    if (now - launched_at > absl::Seconds(10)) short_lives = 0;
    return BackoffAfter(short_lives++, bounds);
  }
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_RANK_SLOT_H_
