// muster: runs TrainingJobs on this machine and shows their state.

#include <cstdio>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/flags/invocation.h"

namespace {

using muster::cli::Command;
using muster::cli::Commands;
using muster::cli::Invocation;

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: muster COMMAND [ARGUMENTS]\n\n");
  for (const Command& command : Commands()) {
    std::fprintf(out, "  %-52s %s\n", std::string(command.usage).c_str(),
                 std::string(command.help).c_str());
  }
  std::fprintf(
      out,
      "\nmuster COMMAND --help lists a command's flags; muster --version prints the version.\n"
      "Jobs of this machine are kept under $MUSTER_STATE_DIR (default "
      "~/.local/state/muster).\nEvery command but plan and simulate takes --state-dir DIR "
      "instead.\n");
}

int Help(const Command& command) {
  std::printf("usage: muster %s\n\n%s\n\n", std::string(command.usage).c_str(),
              std::string(command.help).c_str());
  return command.main({"--help"});
}

int Run(const Invocation& invocation) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) {
    if (command.name == invocation.command) {
      return invocation.help ? Help(command) : command.main(invocation.arguments);
    }
    names.emplace_back(command.name);
  }
  std::fprintf(stderr, "muster: there is no command '%s'%s\n\n", invocation.command.c_str(),
               muster::cli::DidYouMean(invocation.command, names).c_str());
  PrintUsage(stderr);
  return muster::kExitBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  const auto invocation =
      muster::cli::ReadInvocation(std::vector<std::string>(argv + 1, argv + argc));
  if (!invocation.ok()) return muster::cli::Fail(invocation.status());
  if (invocation->version) {
    std::printf("muster %s\n", muster::kVersion);
    return muster::kExitOk;
  }
  if (!invocation->command.empty()) return Run(*invocation);
  PrintUsage(invocation->help ? stdout : stderr);
  return invocation->help ? muster::kExitOk : muster::kExitBadInput;
}
