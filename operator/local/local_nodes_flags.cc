#include "operator/local/local_nodes_flags.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

LocalNodesFlags Defaults() {
  return {{"kubeconfig", ""}, {"node", ""},    {"state-dir", ""},
          {"gpus", "0"},      {"cpus", "64"},  {"labels", ""},
          {"agent", ""},      {"trainer", ""}, {"renew-interval", "10s"}};
}

}  // namespace

const char kLocalNodesUsage[] =
    "usage: muster-local-nodes --kubeconfig=FILE --node=NAME[,NAME] --state-dir=FOLDER [FLAGS]\n"
    "  --kubeconfig      the credentials of a node (system:node:NAME) work for that node only\n"
    "  --node            names of the nodes to provide\n"
    "  --state-dir       the nodes' state; processes found there are adopted\n"
    "  --gpus --cpus     of each node; default 0 and 64\n"
    "  --labels          of each node: NAME=VALUE[,NAME=VALUE]\n"
    "  --agent --trainer programs of the images muster-agent and muster-trainer\n"
    "  --renew-interval  of the nodes' leases; default 10s\n";

absl::StatusOr<LocalNodesFlags> ParseLocalNodesFlags(int argc, const char* const* argv) {
  LocalNodesFlags flags = Defaults();
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    if (argument.compare(0, 2, "--") != 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(argument, ": wants --NAME=VALUE"));
    }
    const auto flag = flags.find(argument.substr(2, equals - 2));
    if (flag == flags.end()) {
      return absl::InvalidArgumentError(absl::StrCat(argument, ": no such flag"));
    }
    flag->second = argument.substr(equals + 1);
  }
  for (const char* name : {"node", "state-dir"}) {
    if (flags[name].empty()) {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " is missing"));
    }
  }
  return flags;
}

std::vector<std::string> LocalNodesFlagNames() {
  std::vector<std::string> names;
  for (const auto& [name, value] : Defaults()) names.push_back(name);
  return names;
}

}  // namespace muster::control
