#ifndef MUSTER_CLI_FLAGS_COMMAND_CALL_H_
#define MUSTER_CLI_FLAGS_COMMAND_CALL_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace muster::cli {

// The exit code of a subcommand, and its output.
struct CommandResult {
  int code = 0;
  std::string out;
  std::string err;
};

// Calls a subcommand within the test's own process.
inline CommandResult Call(int (*command)(const std::vector<std::string>&),
                          const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CommandResult result;
  result.code = command(arguments);
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

}  // namespace muster::cli

#endif  // MUSTER_CLI_FLAGS_COMMAND_CALL_H_
