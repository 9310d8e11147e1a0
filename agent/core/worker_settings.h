#ifndef MUSTER_AGENT_CORE_WORKER_SETTINGS_H_
#define MUSTER_AGENT_CORE_WORKER_SETTINGS_H_

#include <string>

#include "absl/time/time.h"
#include "base/backoff.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::agent {

// Who this agent is. Constant for its life.
struct WorkerConfig {
  v1alpha1::WorkerId worker;
  int ranks = 1;
  // Under which other workers reach this one.
  std::string host;
  std::string version;
  // Until Welcome says otherwise.
  absl::Duration orphan_deadline = absl::Seconds(60);
  // The operator runs on this machine, so that it is frozen whenever this agent is.
  bool shares_machine = false;
  // A new process may load libraries and read its data for this long before its first message.
  absl::Duration start_deadline = absl::Seconds(300);
  // From SIGTERM to SIGKILL.
  absl::Duration term_grace = absl::Seconds(5);
  // For a stop at the end of the current step, without and with a checkpoint.
  absl::Duration stop_deadline = absl::Seconds(10);
  absl::Duration save_deadline = absl::Seconds(60);
  // For the checkpoint after SIGTERM: less than a pod's usual 30 s of grace.
  absl::Duration signal_save_deadline = absl::Seconds(15);
};

// What Welcome says, read once.
struct WorkerSettings {
  v1alpha1::TrainingJobSpec spec;
  absl::Duration heartbeat;
  absl::Duration orphan_deadline;
  // Silence of a rank after which it is killed.
  absl::Duration rank_deadline;
  // A rank that has not answered Prepare by then is stuck: the operator waits no longer.
  absl::Duration prepare_deadline;
  bool restart_rank = true;
  // Between the processes of a rank that ends soon after it was started.
  BackoffBounds restart_backoff;
};

// Durations that are absent or malformed get their defaults: the API has validated them.
WorkerSettings ReadWelcome(const v1alpha1::Welcome& welcome, const WorkerConfig& config);

// (term, round) ordered as numbers.
bool Less(const v1alpha1::RoundId& a, const v1alpha1::RoundId& b);
bool Same(const v1alpha1::RoundId& a, const v1alpha1::RoundId& b);
std::string ToText(const v1alpha1::RoundId& round);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_WORKER_SETTINGS_H_
