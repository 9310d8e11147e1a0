#ifndef MUSTER_AGENT_CORE_WORKER_SETTINGS_H_
#define MUSTER_AGENT_CORE_WORKER_SETTINGS_H_

#include <string>

#include "absl/time/time.h"
#include "base/backoff.h"
#include "proto/muster/v1alpha1/agent_messages.pb.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::agent {

// The identity and limits of this agent, constant for its life.
struct WorkerConfig {
  v1alpha1::WorkerId worker;
  int ranks = 1;
  // The host name or address by which other workers reach this one.
  std::string host;
  std::string version;
  // The folder below which each rank has one for copies of its state, in memory.
  std::string copies_directory;
  // Applies until Welcome sets another one.
  absl::Duration orphan_deadline = absl::Seconds(60);
  // The operator runs on this machine, so it is frozen whenever this agent is.
  bool shares_machine = false;
  // A new process may load libraries and read its data for this long before its first message.
  absl::Duration start_deadline = absl::Seconds(300);
  // The time between SIGTERM and SIGKILL.
  absl::Duration term_grace = absl::Seconds(5);
  // Limits for a stop at the end of the current step, without and with a checkpoint.
  absl::Duration stop_deadline = absl::Seconds(10);
  absl::Duration save_deadline = absl::Seconds(60);
  // The limit for the checkpoint after SIGTERM; less than a pod's usual 30 s of grace.
  absl::Duration signal_save_deadline = absl::Seconds(15);
  // The time between SIGTERM and SIGKILL in which a command may save its own state.
  absl::Duration command_grace = absl::Seconds(5);
};

// Divides the time that a terminated pod has between the checkpoint or the command's own save, and
// the end of the processes.
void SetPodGrace(absl::Duration grace, WorkerConfig& config);

// The contents of Welcome, parsed once.
struct WorkerSettings {
  v1alpha1::TrainingJobSpec spec;
  absl::Duration heartbeat;
  absl::Duration orphan_deadline;
  // A rank that is silent for this long is killed.
  absl::Duration rank_deadline;
  // A rank that has not answered Prepare by then is stuck: the operator waits no longer.
  absl::Duration prepare_deadline;
  bool restart_rank = true;
  // The delay before the next process of a rank whose processes end soon after their start.
  BackoffBounds restart_backoff;
};

// Parses Welcome. Absent or malformed durations get defaults, since the API has validated them.
WorkerSettings ReadWelcome(const v1alpha1::Welcome& welcome, const WorkerConfig& config);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_WORKER_SETTINGS_H_
