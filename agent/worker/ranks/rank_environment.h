#ifndef MUSTER_AGENT_WORKER_RANKS_RANK_ENVIRONMENT_H_
#define MUSTER_AGENT_WORKER_RANKS_RANK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "agent/core/worker_event.h"
#include "base/environment.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::agent {

// Returns `environ` without the variables that concern only the agent.
Environment InheritedEnvironment(const char* const* environ);

// Returns the environment of a rank's process: `inherited`, overridden by torchrun's variables, so
// that a program written for torchrun runs unchanged. OMP_NUM_THREADS, OMP_WAIT_POLICY and
// TORCH_NCCL_ASYNC_ERROR_HANDLING are set only if the job does not set them.
Environment RankEnvironment(Environment inherited, const v1alpha1::WorkerId& worker,
                            const RankPlacement& placement, int max_restarts,
                            const std::string& host);

std::vector<std::string> ToVector(const Environment& environment);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_RANK_ENVIRONMENT_H_
