// kubectl-muster: the plugin of kubectl for TrainingJobs. Under the name kubectl_complete-muster,
// by which kubectl looks for it, the same program completes the plugin's command lines.

#include <string>
#include <string_view>
#include <vector>

#include "cli/kubectl/commands.h"

int main(int argc, char** argv) {
  const std::string_view path = argc > 0 ? argv[0] : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (name.starts_with("kubectl_complete-")) {
    return muster::cli::kubectl::CompleteForKubectl(arguments);
  }
  return muster::cli::kubectl::RunPlugin(arguments);
}
