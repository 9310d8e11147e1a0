// muster: run TrainingJobs on this machine and look at them.

#include <cstdio>
#include <string>
#include <vector>

#include "base/exit_codes.h"
#include "cli/commands.h"

namespace {

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: muster COMMAND [ARGUMENTS]\n\n");
  for (const muster::cli::Command& command : muster::cli::Commands()) {
    std::fprintf(out, "  %-52s %s\n", std::string(command.usage).c_str(),
                 std::string(command.help).c_str());
  }
  std::fprintf(out,
               "\nJobs live under $MUSTER_STATE_DIR (default ~/.local/state/muster); every command "
               "takes --state-dir DIR.\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name.empty() || name == "help" || name == "--help" || name == "-h") {
    PrintUsage(name.empty() ? stderr : stdout);
    return name.empty() ? muster::kExitBadInput : muster::kExitOk;
  }
  for (const muster::cli::Command& command : muster::cli::Commands()) {
    if (name == command.name) return command.main(std::vector<std::string>(argv + 2, argv + argc));
  }
  std::fprintf(stderr, "muster: there is no command '%s'\n\n", name.c_str());
  PrintUsage(stderr);
  return muster::kExitBadInput;
}
