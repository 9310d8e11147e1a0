#ifndef MUSTER_CLI_FLAGS_COMPLETION_SCRIPT_H_
#define MUSTER_CLI_FLAGS_COMPLETION_SCRIPT_H_

#include <string>

#include "absl/status/statusor.h"

namespace muster::cli {

// Returns the script that has `shell` (bash, zsh or fish) complete the command lines of `program`.
//
// The script calls `program completion words AT -- WORD...`, which must print the candidates for
// the word at index AT, so that a script of one version supports the flags of another. The shell
// completes file names if there are no candidates. InvalidArgument: another shell.
absl::StatusOr<std::string> CompletionScript(const std::string& shell, const std::string& program);

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_COMPLETION_SCRIPT_H_
