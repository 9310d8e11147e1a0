#ifndef MUSTER_CLI_KUBECTL_SHORT_FLAGS_H_
#define MUSTER_CLI_KUBECTL_SHORT_FLAGS_H_

#include <map>
#include <string>
#include <vector>

namespace muster::cli::kubectl {

// The long name of each flag that has a letter, without dashes.
using ShortFlags = std::map<char, std::string>;

// Returns the arguments with -n, -nVALUE and -n=VALUE in their long forms, as kubectl's users type
// them: --namespace, --namespace=VALUE. Words after `--`, and a letter that is not listed, stay as
// they are. Pure.
std::vector<std::string> WithLongFlags(const std::vector<std::string>& arguments,
                                       const ShortFlags& letters);

}  // namespace muster::cli::kubectl

#endif  // MUSTER_CLI_KUBECTL_SHORT_FLAGS_H_
