#ifndef MUSTER_AGENT_WORKER_RANK_ENVIRONMENT_H_
#define MUSTER_AGENT_WORKER_RANK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "agent/core/worker_event.h"
#include "base/environment.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::agent {

// Of this process, without what concerns the agent alone.
Environment InheritedEnvironment(const char* const* environ);

// What a rank's process is started with: `inherited` and over it torchrun's variables, so that a
// program written for torchrun runs unchanged. OMP_NUM_THREADS and OMP_WAIT_POLICY are set only
// when the job does not.
Environment RankEnvironment(Environment inherited, const v1alpha1::WorkerId& worker,
                            const RankPlacement& placement, int max_restarts,
                            const std::string& host);

std::vector<std::string> ToVector(const Environment& environment);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANK_ENVIRONMENT_H_
