#ifndef MUSTER_OPERATOR_LOCAL_LOCAL_NODES_FLAGS_H_
#define MUSTER_OPERATOR_LOCAL_LOCAL_NODES_FLAGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::control {

extern const char kLocalNodesUsage[];

// The flags of muster-local-nodes by name, without their dashes.
using LocalNodesFlags = std::map<std::string, std::string>;

// Parses the flags, each --NAME=VALUE; `argv` begins with the program's name. Flags that are not
// given have their defaults. Errors are InvalidArgument.
absl::StatusOr<LocalNodesFlags> ParseLocalNodesFlags(int argc, const char* const* argv);

// Returns the name of every flag that ParseLocalNodesFlags() knows, without dashes, sorted.
std::vector<std::string> LocalNodesFlagNames();

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_LOCAL_LOCAL_NODES_FLAGS_H_
