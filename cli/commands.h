#ifndef MUSTER_CLI_COMMANDS_H_
#define MUSTER_CLI_COMMANDS_H_

#include <string>
#include <vector>
#include "absl/strings/string_view.h"

#include "absl/status/status.h"

namespace muster::cli {

// A subcommand: takes the arguments after its name, writes to stdout and stderr, returns the exit
// code (base/exit_codes.h).
struct Command {
  absl::string_view name;
  absl::string_view usage;
  absl::string_view help;
  int (*main)(const std::vector<std::string>& arguments);
};

const std::vector<Command>& Commands();

// Prints the error; BadInput for what the user can mend, Failed otherwise. What was Cancelled is no
// error but the help that was asked for.
int Fail(const absl::Status& status);

int RunMain(const std::vector<std::string>& arguments);
int ResumeMain(const std::vector<std::string>& arguments);
int DeleteMain(const std::vector<std::string>& arguments);
int StopMain(const std::vector<std::string>& arguments);
int GetMain(const std::vector<std::string>& arguments);
int DescribeMain(const std::vector<std::string>& arguments);
int LogsMain(const std::vector<std::string>& arguments);
int ExplainMain(const std::vector<std::string>& arguments);
int TreeMain(const std::vector<std::string>& arguments);
int QueueMain(const std::vector<std::string>& arguments);
int WhatIfMain(const std::vector<std::string>& arguments);
int CheckpointsMain(const std::vector<std::string>& arguments);
int GenerateMain(const std::vector<std::string>& arguments);
int SimulateMain(const std::vector<std::string>& arguments);
int ReplayMain(const std::vector<std::string>& arguments);

}  // namespace muster::cli

#endif  // MUSTER_CLI_COMMANDS_H_
