#include "agent/worker/ranks/rank_environment.h"

#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/object_store/object_uri.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

// Sets host and port of rank 0's store in both of torchrun's spellings.
void SetMaster(const std::string& endpoint, const std::string& host, Environment& env) {
  const size_t colon = endpoint.rfind(':');
  const bool known = colon != std::string::npos;
  env["MASTER_ADDR"] = env["PET_MASTER_ADDR"] = known ? endpoint.substr(0, colon) : host;
  env["MASTER_PORT"] = env["PET_MASTER_PORT"] = known ? endpoint.substr(colon + 1) : "0";
}

void NameFabric(const std::vector<InfinibandReading>& ports, Environment& env) {
  std::vector<std::string> fabric;
  bool others = false;
  for (const InfinibandReading& port : ports) {
    if (port.state != "ACTIVE") continue;
    if (port.link_layer == "InfiniBand") {
      fabric.push_back(absl::StrCat(port.device, ":", port.port));
    } else {
      others = true;
    }
  }
  if (fabric.empty() || !others) return;
  env.emplace("NCCL_IB_HCA", absl::StrCat("=", absl::StrJoin(fabric, ",")));
}

void NameInterface(const std::vector<InterfaceAddress>& addresses, const std::string& host,
                   Environment& env) {
  std::set<std::string> interfaces;
  std::string ours;
  for (const InterfaceAddress& one : addresses) {
    if (one.loopback) continue;
    interfaces.insert(one.interface);
    if (one.address == host) ours = one.interface;
  }
  if (ours.empty() || interfaces.size() < 2) return;
  env.emplace("NCCL_SOCKET_IFNAME", absl::StrCat("=", ours));
  env.emplace("GLOO_SOCKET_IFNAME", ours);
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

void AddNcclHints(const std::vector<InfinibandReading>& ports,
                  const std::vector<InterfaceAddress>& addresses, const std::string& host,
                  int workers, Environment& env) {
  if (workers < 2) return;
  NameFabric(ports, env);
  NameInterface(addresses, host, env);
}

absl::Status AddCheckpointDirectory(const v1alpha1::TrainingJobSpec& spec, Files& files,
                                    Environment& env) {
  if (!spec.has_checkpoint()) return absl::OkStatus();
  const std::string& uri = spec.checkpoint().uri();
  if (!IsObjectUri(uri)) {
    if (const absl::Status made = files.MakeDirectories(uri); !made.ok()) {
      return absl::Status(made.code(),
                          absl::StrCat("checkpoint.uri cannot be made: ", made.message()));
    }
  }
  env["MUSTER_CHECKPOINT_DIR"] = uri;
  return absl::OkStatus();
}

std::vector<std::string> ToVector(const Environment& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(absl::StrCat(name, "=", value));
  return entries;
}

absl::StatusOr<std::vector<std::string>> ReadUserCommand(const std::string& pod_template_json) {
  MUSTER_ASSIGN_OR_RETURN(const Json pod, ParseJson(pod_template_json));
  for (const Json& container : ArrayField(ObjectField(pod, "spec"), "containers")) {
    if (StringField(container, "name") != "worker") continue;
    std::vector<std::string> command = StringsField(container, "command");
    if (command.empty()) break;
    for (std::string& word : StringsField(container, "args")) command.push_back(std::move(word));
    return command;
  }
  return absl::InvalidArgumentError(
      "template.spec.containers: the container `worker` has no command, and the job has no "
      "trainer");
}

}  // namespace muster::agent
