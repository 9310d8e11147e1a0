#ifndef MUSTER_CLI_FLAGS_INVOCATION_H_
#define MUSTER_CLI_FLAGS_INVOCATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::cli {

// The command line of `muster`, parsed as far as all commands share it.
struct Invocation {
  std::string command;                 // empty if none was given
  std::vector<std::string> arguments;  // the command's, with the common flags before it
  bool help = false;                   // --help, -h or `help` was given
  bool version = false;
};

// The flags that may stand before the command, without dashes; each takes a value.
const std::vector<std::string>& FlagsBeforeCommand();

// Parses `arguments`, without the program's name. FlagsBeforeCommand() may precede the command;
// InvalidArgument for any other flag there. Pure.
absl::StatusOr<Invocation> ReadInvocation(const std::vector<std::string>& arguments);

// Returns "; did you mean X?" with the name nearest to `word`; empty if none is near.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& names);

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_INVOCATION_H_
