#ifndef MUSTER_BASE_ENVIRONMENT_H_
#define MUSTER_BASE_ENVIRONMENT_H_

#include <map>
#include <string>

namespace muster {

// A process's environment, name -> value.
using Environment = std::map<std::string, std::string>;

// Replaces $(NAME) as the kubelet does in commands and values: an unknown name stays as it is, and
// $$ becomes one dollar sign.
std::string ExpandVariables(const std::string& text, const Environment& environment);

// Returns the variable of this process; empty if it is not set.
std::string EnvironmentVariable(const std::string& name);

}  // namespace muster

#endif  // MUSTER_BASE_ENVIRONMENT_H_
