#ifndef MUSTER_CLI_COMMANDS_H_
#define MUSTER_CLI_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/flags/command.h"
#include "cli/flags/flags.h"

namespace muster::cli {

const std::vector<Command>& Commands();

// Prints the error; returns BadInput for errors that the user can correct, Failed for others.
// Cancelled carries the help that was requested: it is printed, and is no failure.
int Fail(const absl::Status& status);

int RunMain(const std::vector<std::string>& arguments);
int ResumeMain(const std::vector<std::string>& arguments);
int DeleteMain(const std::vector<std::string>& arguments);
int TuneMain(const std::vector<std::string>& arguments);
int StopMain(const std::vector<std::string>& arguments);
int GetMain(const std::vector<std::string>& arguments);
int DescribeMain(const std::vector<std::string>& arguments);
int EventsMain(const std::vector<std::string>& arguments);
int LogsMain(const std::vector<std::string>& arguments);
int ExplainMain(const std::vector<std::string>& arguments);
int TreeMain(const std::vector<std::string>& arguments);
int QueueMain(const std::vector<std::string>& arguments);
int WhatIfMain(const std::vector<std::string>& arguments);
int PlanMain(const std::vector<std::string>& arguments);
int CheckpointsMain(const std::vector<std::string>& arguments);
int GenerateMain(const std::vector<std::string>& arguments);
int SimulateMain(const std::vector<std::string>& arguments);
int ReplayMain(const std::vector<std::string>& arguments);
int CompletionMain(const std::vector<std::string>& arguments);

// The flags of each subcommand.
std::vector<FlagSpec> RunFlags();
std::vector<FlagSpec> ResumeFlags();
std::vector<FlagSpec> DeleteFlags();
std::vector<FlagSpec> TuneFlags();
std::vector<FlagSpec> StopFlags();
std::vector<FlagSpec> GetFlags();
std::vector<FlagSpec> LogsFlags();
std::vector<FlagSpec> ExplainFlags();
std::vector<FlagSpec> TreeFlags();
std::vector<FlagSpec> QueueFlags();
std::vector<FlagSpec> WhatIfFlags();
std::vector<FlagSpec> PlanFlags();
std::vector<FlagSpec> CheckpointsFlags();
std::vector<FlagSpec> GenerateFlags();
std::vector<FlagSpec> SimulateFlags();
std::vector<FlagSpec> ReplayFlags();
std::vector<FlagSpec> CompletionFlags();

}  // namespace muster::cli

#endif  // MUSTER_CLI_COMMANDS_H_
