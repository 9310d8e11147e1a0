// Completion of the plugin's command lines: by kubectl, which runs kubectl_complete-muster, and by
// the scripts that `kubectl-muster completion SHELL` prints.

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "cli/flags/completion.h"
#include "cli/flags/completion_script.h"
#include "cli/kubectl/cluster.h"
#include "cli/kubectl/commands.h"
#include "cli/kubectl/short_flags.h"

namespace muster::cli::kubectl {
namespace {

// The directives of cobra, by which kubectl's own script tells the shell what to do.
constexpr int kDefault = 0;  // files, if there are no candidates
constexpr int kNoFiles = 4;

// The flags on the line that choose a cluster.
std::vector<std::string> ClusterFlagsOn(const TypedLine& line) {
  std::vector<std::string> found;
  const std::vector<std::string> words = WithLongFlags(line.words, {{'n', "namespace"}});
  for (size_t i = 0; i < words.size(); ++i) {
    for (const FlagSpec& flag : ClusterFlags()) {
      const std::string name = absl::StrCat("--", flag.name);
      if (words[i] == name && i + 1 < words.size()) {
        found.push_back(absl::StrCat(name, "=", words[i + 1]));
      } else if (absl::StartsWith(words[i], name + "=")) {
        found.push_back(words[i]);
      }
    }
  }
  return found;
}

// Returns no names if the cluster does not answer, because an error would break up the line that
// the user is typing.
std::vector<std::string> JobNames(const TypedLine& line) {
  std::vector<std::string> names;
  const auto flags = Flags::Parse(ClusterFlagsOn(line), ClusterFlags());
  if (!flags.ok()) return names;
  const auto cluster = Connect(*flags);
  if (!cluster.ok()) return names;
  const auto jobs = ListJobs(*cluster);
  if (!jobs.ok()) return names;
  for (const control::TrainingJob& job : *jobs) names.push_back(job.name);
  return names;
}

std::vector<std::string> Candidates(const TypedLine& line) {
  // No flag stands before the plugin's commands.
  const std::string typed = line.at < line.words.size() ? line.words[line.at] : "";
  if (line.at <= 1 && absl::StartsWith(typed, "-")) return {};
  const Completion completion = Complete(line, PluginCommands());
  std::vector<std::string> all = completion.words;
  if (completion.names != Names::kJob) return all;
  for (const std::string& job : JobNames(line)) {
    if (absl::StartsWith(job, completion.begin)) all.push_back(completion.before + job);
  }
  return all;
}

int PrintWords(const std::vector<std::string>& arguments) {
  TypedLine line;
  if (arguments.size() < 2 || !absl::SimpleAtoi(arguments[1], &line.at)) {
    return Fail(absl::InvalidArgumentError("kubectl-muster completion words AT -- WORD..."));
  }
  line.words.assign(arguments.begin() + 2, arguments.end());
  for (const std::string& word : Candidates(line)) std::printf("%s\n", word.c_str());
  return kExitOk;
}

}  // namespace

int CompleteForKubectl(const std::vector<std::string>& words) {
  TypedLine line;
  line.words = {"kubectl-muster"};
  line.words.insert(line.words.end(), words.begin(), words.end());
  line.at = words.empty() ? 1 : words.size();
  const std::vector<std::string> candidates = Candidates(line);
  for (const std::string& word : candidates) std::printf("%s\n", word.c_str());
  const bool wants_file = candidates.empty() && words.size() > 1 && words[0] == "run";
  std::printf(":%d\n", wants_file ? kDefault : kNoFiles);
  return kExitOk;
}

std::vector<FlagSpec> CompletionFlags() { return {}; }

int CompletionMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, CompletionFlags());
  if (!flags.ok()) return Fail(flags.status());
  const std::vector<std::string>& words = flags->positional();
  if (!words.empty() && words[0] == "words") return PrintWords(words);
  const auto script = CompletionScript(words.size() == 1 ? words[0] : "", "kubectl-muster");
  if (!script.ok()) return Fail(script.status());
  std::printf("%s", script->c_str());
  return kExitOk;
}

}  // namespace muster::cli::kubectl
