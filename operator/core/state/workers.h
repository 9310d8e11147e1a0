#ifndef MUSTER_OPERATOR_CORE_STATE_WORKERS_H_
#define MUSTER_OPERATOR_CORE_STATE_WORKERS_H_

#include <vector>

#include "absl/time/time.h"
#include "operator/core/state/options.h"
#include "operator/core/state/round_memory.h"
#include "operator/core/state/view.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {

// The state of one worker index: of its pod of the current incarnation and of that pod's agent.
enum class Presence {
  kMissing,   // no pod of the current incarnation
  kStarting,  // a pod, and its agent has not attached yet
  kPresent,   // bound, attached, and heard from lately
  kUnknown,   // not attached, or silent, for less than the unknown window: may well be stepping
  kSilent,    // silent for longer than that: given up
  kGone,      // the pod ended or is being deleted
};

struct Worker {
  int index = 0;
  int incarnation = 0;
  const PodView* pod = nullptr;
  const AgentView* agent = nullptr;
  Presence presence = Presence::kMissing;
  // Its command has ended: see ended.h.
  bool ended = false;
  // The time at which the presence may change by time alone; InfiniteFuture if it cannot.
  absl::Time recheck = absl::InfiniteFuture();
};

// Records in `memory` which pods exist, since when they run, and which workers an earlier leader
// told to stop.
void ObserveWorkers(const JobView& view, RoundMemory& memory);

// Records in the status which workers were told to stop, for the leaders to come.
void KeepToldToStop(const RoundMemory& memory, v1alpha1::TrainingJobStatus& status);

// Returns the workers by index, one per entry of status.incarnations. They point into `view`.
std::vector<Worker> FindWorkers(const JobView& view, const RoundMemory& memory,
                                const DecideOptions& options);

// Returns true if the pod's worker does nothing more. Other containers of the pod may still run.
bool WorkerHasEnded(const PodView& pod);
// Returns true if it ended so, and not with exit code 0.
bool WorkerHasFailed(const PodView& pod);

// Returns true if there is such a worker and its pod has a node; `worker` may be null.
bool IsOnNode(const Worker* worker);

// Returns true if the worker cannot take part any more and its pod is to be replaced.
bool IsLost(Presence presence);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_WORKERS_H_
