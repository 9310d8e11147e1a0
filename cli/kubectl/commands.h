#ifndef MUSTER_CLI_KUBECTL_COMMANDS_H_
#define MUSTER_CLI_KUBECTL_COMMANDS_H_

#include <string>
#include <vector>

#include "cli/flags/command.h"
#include "cli/flags/flags.h"

namespace muster::cli::kubectl {

// The subcommands of the plugin, in the order of its help.
const std::vector<Command>& PluginCommands();

// Runs the plugin: `arguments` begin with the subcommand. Returns the exit code.
int RunPlugin(const std::vector<std::string>& arguments);

int RunMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> RunFlags();
int GetMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> GetFlags();
int DescribeMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> DescribeFlags();
int LogsMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> LogsFlags();
int TopMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> TopFlags();
int EventsMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> EventsFlags();
int CheckpointsMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> CheckpointsFlags();
int SuspendMain(const std::vector<std::string>& arguments);
int ResumeMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> SuspendFlags();
int ScaleMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> ScaleFlags();
int TuneMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> TuneFlags();

// Prints the candidates for the last of `words`, in the form that kubectl wants of
// kubectl_complete-muster: one a line, then a line with what the shell may add (cobra's directive).
int CompleteForKubectl(const std::vector<std::string>& words);
int CompletionMain(const std::vector<std::string>& arguments);
std::vector<FlagSpec> CompletionFlags();

}  // namespace muster::cli::kubectl

#endif  // MUSTER_CLI_KUBECTL_COMMANDS_H_
