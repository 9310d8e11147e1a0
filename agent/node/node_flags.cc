#include "agent/node/node_flags.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/notices/find_source.h"
#include "base/net/unix_socket.h"

namespace muster::agent {
namespace {

using Problem = std::optional<std::string>;  // what a valid value would be
using Setter = std::function<Problem(const std::string& value)>;

Setter Text(std::string& to) {
  return [&to](const std::string& value) {
    to = value;
    return Problem();
  };
}

// Periods below a second would cost more than they tell.
Setter Period(absl::Duration& to) {
  return [&to](const std::string& value) -> Problem {
    absl::Duration parsed;
    if (!absl::ParseDuration(value, &parsed) || parsed < absl::Seconds(1)) {
      return "wants a duration of at least 1s";
    }
    to = parsed;
    return std::nullopt;
  };
}

std::map<std::string, Setter> SettersOf(NodeAgentFlags& flags) {
  return {{"coordinator",
           [&flags](const std::string& value) -> Problem {
             flags.coordinators = absl::StrSplit(value, ',', absl::SkipEmpty());
             return std::nullopt;
           }},
          {"coordinator-ca", Text(flags.coordinator_ca)},
          {"coordinator-token", Text(flags.coordinator_token)},
          {"node", Text(flags.node)},
          {"pod-uid", Text(flags.pod_uid)},
          {"sys", Text(flags.sys)},
          {"nvml", Text(flags.nvml)},
          {"ibnetdiscover", Text(flags.ibnetdiscover)},
          {"metrics", Text(flags.metrics)},
          {"probes", Text(flags.probes)},
          {"state-dir", Text(flags.state_dir)},
          {"period", Period(flags.period)},
          {"fabric-period", Period(flags.fabric_period)},
          {"notices",
           [&flags](const std::string& value) -> Problem {
             if (!IsNoticesFlag(value)) return "wants auto, aws, google, azure or off";
             flags.notices = value;
             return std::nullopt;
           }},
          {"notices-address",
           [&flags](const std::string& value) -> Problem {
             if (!absl::StartsWith(value, "http://"))
               return "wants http://HOST or http://HOST:PORT";
             flags.notices_address = value;
             return std::nullopt;
           }},
          {"notices-period", Period(flags.notices_period)},
          {"notices-rebalance",
           [&flags](const std::string& value) -> Problem {
             if (value != "true" && value != "false") return "wants true or false";
             flags.notices_rebalance = value == "true";
             return std::nullopt;
           }},
          {"log-format", [&flags](const std::string& value) -> Problem {
             if (value != "text" && value != "json") return "wants text or json";
             flags.log_json = value == "json";
             return std::nullopt;
           }}};
}

void CheckTogether(const NodeAgentFlags& flags, std::vector<std::string>& problems) {
  if (flags.node.empty()) problems.push_back("--node: is missing, and NODE_NAME is not set");
  if (flags.coordinators.empty()) {
    problems.push_back("--coordinator: is missing");
    return;
  }
  const auto& all = flags.coordinators;
  const bool local = std::all_of(all.begin(), all.end(), IsUnixAddress);
  const bool remote = std::none_of(all.begin(), all.end(), IsUnixAddress);
  if (!local && !remote) {
    problems.push_back("--coordinator: wants unix sockets or addresses of hosts, not both");
  }
  if (remote && (flags.coordinator_ca.empty() || flags.coordinator_token.empty())) {
    problems.push_back(
        "--coordinator: one on another host needs --coordinator-ca and --coordinator-token");
  }
}

}  // namespace

const std::vector<NodeAgentFlag>& NodeAgentFlagTable() {
  static const auto* const flags = new std::vector<NodeAgentFlag>{
      {"coordinator", "MUSTER_COORDINATOR",
       "where the operator's coordinators listen: ADDRESS[,ADDRESS], all unix:/PATH or all "
       "HOST:PORT; required"},
      {"coordinator-ca", "", "the file with the authority of a coordinator on another host, PEM"},
      {"coordinator-token", "",
       "the file with the token that proves the agent to a coordinator on another host"},
      {"node", "NODE_NAME", "the name of the Node object that this machine is; required"},
      {"pod-uid", "POD_UID", "the UID of the pod that the agent runs in"},
      {"sys", "", "where the machine's /sys is mounted; default /sys"},
      {"nvml", "", "NVML's library, a path or a name; default libnvidia-ml.so.1"},
      {"ibnetdiscover", "",
       "the program of infiniband-diags that finds the switches of InfiniBand ports; empty: they "
       "are not looked for; default ibnetdiscover"},
      {"metrics", "",
       "where metrics are served to whoever asks, over plain HTTP: IPV4:PORT; empty for none; "
       "default 127.0.0.1:9402, which only programs of the same machine or pod reach"},
      {"probes", "", "where /healthz alone is served: IPV4:PORT; empty for none; default none"},
      {"state-dir", "",
       "where the faults that were seen are kept over a restart of the agent; a folder that is "
       "empty "
       "after a start of the machine; default none"},
      {"period", "", "the time between two readings; default 10s"},
      {"fabric-period", "", "the time between two looks at the InfiniBand fabric; default 6h"},
      {"notices", "",
       "the cloud whose metadata service announces that it takes this machine away: aws, google, "
       "azure, auto (the one that answers) or off; default auto"},
      {"notices-address", "",
       "where that service answers, if not where clouds have it: http://HOST[:PORT]; default "
       "http://169.254.169.254"},
      {"notices-period", "", "the time between two questions to it; default 1s"},
      {"notices-rebalance", "",
       "true: a rebalance recommendation of AWS is a notice, although the instance may stay; the "
       "node is closed, and a worker leaves it if a spare takes its seat; default false"},
      {"log-format", "", "text or json; default text"}};
  return *flags;
}

std::string NodeAgentUsage() {
  std::vector<std::string> names;
  for (const NodeAgentFlag& flag : NodeAgentFlagTable()) names.push_back(flag.name);
  return absl::StrCat(
      "usage: muster-node-agent --coordinator=ADDRESS --node=NAME [--NAME=VALUE ...]",
      "\nnames: ", absl::StrJoin(names, " "), "\n");
}

absl::StatusOr<NodeAgentFlags> ParseNodeAgentFlags(
    const std::vector<std::string>& args,
    const std::function<std::string(const std::string& name)>& environment) {
  NodeAgentFlags flags;
  const std::map<std::string, Setter> setters = SettersOf(flags);
  std::vector<std::string> problems;
  for (const NodeAgentFlag& flag : NodeAgentFlagTable()) {
    const std::string value = *flag.variable == '\0' ? "" : environment(flag.variable);
    if (!value.empty()) setters.at(flag.name)(value);
  }
  for (const std::string& argument : args) {
    const size_t equals = argument.find('=');
    if (!absl::StartsWith(argument, "--") || equals == std::string::npos) {
      problems.push_back(absl::StrCat(argument, ": flags are --NAME=VALUE"));
      continue;
    }
    const auto setter = setters.find(argument.substr(2, equals - 2));
    if (setter == setters.end()) {
      problems.push_back(absl::StrCat(argument.substr(0, equals), ": no such flag"));
    } else if (const Problem problem = setter->second(argument.substr(equals + 1))) {
      problems.push_back(absl::StrCat(argument, ": ", *problem));
    }
  }
  CheckTogether(flags, problems);
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  return flags;
}

}  // namespace muster::agent
