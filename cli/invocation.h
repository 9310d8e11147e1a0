#ifndef MUSTER_CLI_INVOCATION_H_
#define MUSTER_CLI_INVOCATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::cli {

// The command line of `muster`, read as far as every command has it in common.
struct Invocation {
  std::string command;                 // empty: none was given
  std::vector<std::string> arguments;  // of the command; the common flags before it, too
  bool help = false;                   // --help, -h or `help` was among them
  bool version = false;
};

// The flags that may stand before the command, without dashes; each takes a value.
const std::vector<std::string>& FlagsBeforeCommand();

// `arguments` without the program's name. FlagsBeforeCommand() may stand before the command.
// InvalidArgument for another flag there. Pure.
absl::StatusOr<Invocation> ReadInvocation(const std::vector<std::string>& arguments);

// "; did you mean X?" with the name that is nearest to `word`; empty when none is near.
std::string DidYouMean(const std::string& word, const std::vector<std::string>& names);

}  // namespace muster::cli

#endif  // MUSTER_CLI_INVOCATION_H_
