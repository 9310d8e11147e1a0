#ifndef MUSTER_AGENT_NODE_NODE_FLAGS_H_
#define MUSTER_AGENT_NODE_NODE_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::agent {

// The settings of muster-node-agent.
struct NodeAgentFlags {
  std::vector<std::string> coordinators;  // all unix:/PATH or all HOST:PORT
  std::string coordinator_ca;             // a file of PEM
  std::string coordinator_token;          // a file
  std::string node;
  std::string pod_uid;
  std::string sys = "/sys";
  std::string nvml = "libnvidia-ml.so.1";
  std::string ibnetdiscover = "ibnetdiscover";  // empty: the fabric is not asked
  std::string metrics = "127.0.0.1:9402";       // empty: none
  std::string probes;                           // empty: none but at `metrics`
  std::string state_dir;                        // empty: nothing is kept
  absl::Duration period = absl::Seconds(10);
  absl::Duration fabric_period = absl::Hours(6);
  std::string notices = "auto";  // IsNoticesFlag()
  std::string notices_address = "http://169.254.169.254";
  absl::Duration notices_period = absl::Seconds(1);
  bool notices_rebalance = false;
  bool log_json = false;
};

struct NodeAgentFlag {
  const char* name;      // without dashes
  const char* variable;  // the environment variable that holds its default; may be empty
  const char* help;
};

// Every flag that ParseNodeAgentFlags() knows, in the order of the reference.
const std::vector<NodeAgentFlag>& NodeAgentFlagTable();
std::string NodeAgentUsage();

// Parses `args`, without the program's name: --NAME=VALUE each. `environment` returns a variable's
// value, or "". The error lists every bad flag, one per line.
absl::StatusOr<NodeAgentFlags> ParseNodeAgentFlags(
    const std::vector<std::string>& args,
    const std::function<std::string(const std::string& name)>& environment);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_NODE_FLAGS_H_
