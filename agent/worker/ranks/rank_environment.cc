#include "agent/worker/ranks/rank_environment.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

// Sets host and port of rank 0's store in both of torchrun's spellings.
void SetMaster(const std::string& endpoint, const std::string& host, Environment& env) {
  const size_t colon = endpoint.rfind(':');
  const bool known = colon != std::string::npos;
  env["MASTER_ADDR"] = env["PET_MASTER_ADDR"] = known ? endpoint.substr(0, colon) : host;
  env["MASTER_PORT"] = env["PET_MASTER_PORT"] = known ? endpoint.substr(colon + 1) : "0";
}

}  // namespace

Environment InheritedEnvironment(const char* const* environ) {
  Environment env;
  for (; *environ != nullptr; ++environ) {
    const char* equals = std::strchr(*environ, '=');
    if (equals == nullptr) continue;
    env[std::string(*environ, equals)] = equals + 1;
  }
  env.erase("MUSTER_EXIT_FILE");
  return env;
}

Environment RankEnvironment(Environment env, const v1alpha1::WorkerId& worker,
                            const RankPlacement& at, int max_restarts, const std::string& host) {
  const auto set = [&env](const char* name, int value) { env[name] = absl::StrCat(value); };
  set("RANK", at.rank);
  set("LOCAL_RANK", at.local_rank);
  set("WORLD_SIZE", at.world_size);
  set("LOCAL_WORLD_SIZE", at.local_world_size);
  set("GROUP_RANK", at.group_rank);
  set("GROUP_WORLD_SIZE", at.group_world_size);
  set("ROLE_RANK", at.rank);
  set("ROLE_WORLD_SIZE", at.world_size);
  env["ROLE_NAME"] = "default";
  SetMaster(at.master_endpoint, host, env);
  set("TORCHELASTIC_RESTART_COUNT", at.restart_count);
  set("TORCHELASTIC_MAX_RESTARTS", max_restarts);
  env["TORCHELASTIC_RUN_ID"] = worker.job_uid().empty() ? worker.job() : worker.job_uid();
  // The store belongs to rank 0, not to the agent.
  env["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  set("PET_NNODES", at.group_world_size);
  set("PET_NPROC_PER_NODE", at.local_world_size);
  set("PET_NODE_RANK", at.group_rank);
  env["PET_RDZV_ID"] = env["TORCHELASTIC_RUN_ID"];
  set("JOB_COMPLETION_INDEX", at.completion_index.value_or(worker.index()));
  env.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  env.emplace("OMP_NUM_THREADS", "1");
  env.emplace("OMP_WAIT_POLICY", "passive");
  return env;
}

std::vector<std::string> ToVector(const Environment& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(absl::StrCat(name, "=", value));
  return entries;
}

}  // namespace muster::agent
