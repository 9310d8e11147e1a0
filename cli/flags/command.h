#ifndef MUSTER_CLI_FLAGS_COMMAND_H_
#define MUSTER_CLI_FLAGS_COMMAND_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/flags/flags.h"

namespace muster::cli {

// A subcommand: takes the arguments after its name, writes to stdout and stderr, returns the exit
// code (base/exit_codes.h).
struct Command {
  absl::string_view name;
  absl::string_view usage;
  absl::string_view help;
  int (*main)(const std::vector<std::string>& arguments);
  std::vector<FlagSpec> (*flags)();
  // Completion of its positional arguments: fixed words, and names of this kind.
  std::vector<absl::string_view> words = {};
  Names names = Names::kOther;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_COMMAND_H_
