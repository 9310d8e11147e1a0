#ifndef MUSTER_OPERATOR_CORE_WORKERS_H_
#define MUSTER_OPERATOR_CORE_WORKERS_H_

#include <vector>

#include "absl/time/time.h"
#include "operator/core/options.h"
#include "operator/core/round_memory.h"
#include "operator/core/view.h"

namespace muster::control {

// What is known of one worker index: its pod of the current incarnation and that pod's agent.
enum class Presence {
  kMissing,   // no pod of the current incarnation
  kStarting,  // a pod, and its agent has not attached yet
  kPresent,   // bound, attached, heard of lately
  kUnknown,   // not attached, or silent, for less than the unknown window: may well be stepping
  kSilent,    // for longer than that: given up
  kGone,      // the pod ended or is being deleted
};

struct Worker {
  int index = 0;
  int incarnation = 0;
  const PodView* pod = nullptr;
  const AgentView* agent = nullptr;
  Presence presence = Presence::kMissing;
  // Its command came to its end: see ended.h.
  bool ended = false;
  // When the presence may change by time alone; InfiniteFuture when it cannot.
  absl::Time recheck = absl::InfiniteFuture();
};

// Notes in `memory` which pods exist and since when they run.
void ObserveWorkers(const JobView& view, RoundMemory& memory);

// By index, one per entry of status.incarnations. Points into `view`.
std::vector<Worker> FindWorkers(const JobView& view, const RoundMemory& memory,
                                const DecideOptions& options);

// The worker cannot take part any more, and its pod is to be replaced.
bool IsLost(Presence presence);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_WORKERS_H_
