#ifndef MUSTER_CLI_COMMAND_CALL_H_
#define MUSTER_CLI_COMMAND_CALL_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace muster::cli {

// The exit code of a subcommand, and its output.
struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

// Calls a subcommand within the test's own process.
inline Ended Call(int (*command)(const std::vector<std::string>&),
                  const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ended ended;
  ended.code = command(arguments);
  ended.out = testing::internal::GetCapturedStdout();
  ended.err = testing::internal::GetCapturedStderr();
  return ended;
}

}  // namespace muster::cli

#endif  // MUSTER_CLI_COMMAND_CALL_H_
