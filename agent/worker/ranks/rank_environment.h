#ifndef MUSTER_AGENT_WORKER_RANKS_RANK_ENVIRONMENT_H_
#define MUSTER_AGENT_WORKER_RANKS_RANK_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/core/worker_event.h"
#include "agent/hardware/network_interfaces.h"
#include "agent/hardware/reading.h"
#include "base/environment.h"
#include "base/files/files.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// Decides with which environment a rank's process is started, and with which command where the job
// has no trainer.
namespace muster::agent {

// Returns `environ` without the variables that concern only the agent.
Environment InheritedEnvironment(const char* const* environ);

// Returns the environment of a rank's process: `inherited`, overridden by torchrun's variables, so
// that a program written for torchrun runs unchanged. OMP_NUM_THREADS, OMP_WAIT_POLICY and
// TORCH_NCCL_ASYNC_ERROR_HANDLING are set only if the job does not set them.
Environment RankEnvironment(Environment inherited, const v1alpha1::WorkerId& worker,
                            const RankPlacement& placement, int max_restarts,
                            const std::string& host);

// Tells NCCL, and PyTorch's Gloo, by `env`, what they cannot see for themselves in a rank of a
// round of `workers`, on a machine with these adapters and addresses, which the others reach by
// `host`. Pure.
//
// Of several interfaces both take the first by the order of names, which may lead nowhere:
// NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME then name the one that has the address `host`.
//
// NCCL uses every active adapter that it finds, of InfiniBand and RoCE alike. Nodes with an
// InfiniBand fabric often have an Ethernet adapter for management too, over which a ring would
// crawl or never form: NCCL_IB_HCA then names the ports of the fabric, in the form
// "=mlx5_0:1,mlx5_1:1" (NCCL's user guide, environment variables). A value of the job's own or of
// the administrator's stays, and so does everything of a round within one node.
void AddNcclHints(const std::vector<InfinibandReading>& ports,
                  const std::vector<InterfaceAddress>& addresses, const std::string& host,
                  int workers, Environment& env);

// A command saves its own checkpoints; muster only provides the place: makes the directory of
// spec.checkpoint and passes it in MUSTER_CHECKPOINT_DIR. An s3:// uri is passed unchanged and left
// to the command. Sets nothing without spec.checkpoint.
absl::Status AddCheckpointDirectory(const v1alpha1::TrainingJobSpec& spec, Files& files,
                                    Environment& env);

std::vector<std::string> ToVector(const Environment& environment);

// Returns the command of the container named `worker` in a pod template: command, then args,
// verbatim. InvalidArgument if there is no such container or it has no command.
absl::StatusOr<std::vector<std::string>> ReadUserCommand(const std::string& pod_template_json);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_WORKER_RANKS_RANK_ENVIRONMENT_H_
