#include "cli/kubectl/commands.h"

#include <cstdio>
#include <string>

#include "base/exit_codes.h"
#include "base/version.h"
#include "cli/flags/invocation.h"

namespace muster::cli::kubectl {
namespace {

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: kubectl muster COMMAND [ARGUMENTS]\n\n");
  for (const Command& command : PluginCommands()) {
    std::fprintf(out, "  %-52s %s\n", std::string(command.usage).c_str(),
                 std::string(command.help).c_str());
  }
  std::fprintf(out, "\nkubectl muster COMMAND --help lists a command's flags.\n");
}

int Help(const Command& command) {
  std::printf("usage: kubectl muster %s\n\n%s\n\n", std::string(command.usage).c_str(),
              std::string(command.help).c_str());
  return command.main({"--help"});
}

bool IsHelp(const std::string& word) { return word == "--help" || word == "-h"; }

int RunCommand(const Command& command, const std::vector<std::string>& arguments) {
  for (const std::string& word : arguments) {
    if (word == "--") break;
    if (IsHelp(word)) return Help(command);
  }
  return command.main(arguments);
}

}  // namespace

const std::vector<Command>& PluginCommands() {
  static const auto* commands = new std::vector<Command>{
      {"run", "run FILE [--detach]", "create the job of a manifest and follow it to its end",
       &RunMain, &RunFlags},
      {"get",
       "get [JOB...] [-A] [-o json]",
       "list jobs with their progress",
       &GetMain,
       &GetFlags,
       {},
       Names::kJob},
      {"describe",
       "describe JOB",
       "show everything that the cluster knows about a job",
       &DescribeMain,
       &DescribeFlags,
       {},
       Names::kJob},
      {"logs",
       "logs JOB [--worker N] [--rank N] [-f]",
       "print what the ranks say: of all, of a worker's, or of one",
       &LogsMain,
       &LogsFlags,
       {},
       Names::kJob},
      {"top", "top [-A]", "show the jobs that train, fastest first", &TopMain, &TopFlags},
      {"events",
       "events JOB",
       "list the events of a job and its pods",
       &EventsMain,
       &EventsFlags,
       {},
       Names::kJob},
      {"checkpoints",
       "checkpoints JOB",
       "show what a job can go on from",
       &CheckpointsMain,
       &CheckpointsFlags,
       {},
       Names::kJob},
      {"suspend",
       "suspend JOB",
       "save a checkpoint and stop; the job can be resumed",
       &SuspendMain,
       &SuspendFlags,
       {},
       Names::kJob},
      {"resume",
       "resume JOB",
       "continue a suspended job",
       &ResumeMain,
       &SuspendFlags,
       {},
       Names::kJob},
      {"scale",
       "scale JOB --workers N",
       "change the number of a job's workers",
       &ScaleMain,
       &ScaleFlags,
       {},
       Names::kJob},
      {"tune",
       "tune JOB NAME=NUMBER... [--from-step N] [--wait]",
       "change the learningRate, clipNorm or globalBatch of a job while it trains",
       &TuneMain,
       &TuneFlags,
       {},
       Names::kJob},
      {"completion",
       "completion bash|zsh|fish",
       "print a script that completes kubectl-muster; kubectl itself needs kubectl_complete-muster",
       &CompletionMain,
       &CompletionFlags,
       {"bash", "zsh", "fish"}},
  };
  return *commands;
}

int RunPlugin(const std::vector<std::string>& arguments) {
  if (arguments.empty() || IsHelp(arguments[0]) || arguments[0] == "help") {
    PrintUsage(arguments.empty() ? stderr : stdout);
    return arguments.empty() ? kExitBadInput : kExitOk;
  }
  if (arguments[0] == "--version") {
    std::printf("kubectl-muster %s\n", kVersion);
    return kExitOk;
  }
  std::vector<std::string> names;
  for (const Command& command : PluginCommands()) {
    if (command.name == arguments[0]) {
      return RunCommand(command, {arguments.begin() + 1, arguments.end()});
    }
    names.emplace_back(command.name);
  }
  std::fprintf(stderr, "kubectl-muster: there is no command '%s'%s\n\n", arguments[0].c_str(),
               DidYouMean(arguments[0], names).c_str());
  PrintUsage(stderr);
  return kExitBadInput;
}

}  // namespace muster::cli::kubectl
