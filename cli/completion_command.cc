// `muster completion bash|zsh|fish`: prints a script that has this program complete its own command
// lines, so that a script of one version supports the flags of another.
//
// The scripts call `muster completion words AT -- WORD...`, which prints the candidates for the
// word at index AT.

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "cli/commands.h"
#include "cli/flags/completion.h"
#include "cli/flags/completion_script.h"
#include "cli/flags/flags.h"
#include "cli/flags/job_paths.h"

namespace muster::cli {
namespace {

int PrintWords(const Flags& flags) {
  const std::vector<std::string>& arguments = flags.positional();
  TypedLine line;
  if (arguments.size() < 2 || !absl::SimpleAtoi(arguments[1], &line.at)) {
    return Fail(absl::InvalidArgumentError("muster completion words AT -- WORD..."));
  }
  line.words.assign(arguments.begin() + 2, arguments.end());
  const Completion completion = Complete(line, Commands());
  for (const std::string& word : completion.words) std::printf("%s\n", word.c_str());
  if (completion.names != Names::kJob) return kExitOk;
  const std::string typed = StateDirOn(line);
  const auto root = StateRoot(typed.empty() ? flags.Get("state-dir", "") : typed);
  if (!root.ok()) return Fail(root.status());
  const auto jobs = LocalJobs(FileSystem(), *root);
  if (!jobs.ok()) return Fail(jobs.status());
  for (const std::string& job : *jobs) {
    if (!absl::StartsWith(job, completion.begin)) continue;
    std::printf("%s%s\n", completion.before.c_str(), job.c_str());
  }
  return kExitOk;
}

}  // namespace

std::vector<FlagSpec> CompletionFlags() { return {{"state-dir", "where jobs keep their state"}}; }

int CompletionMain(const std::vector<std::string>& arguments) {
  const auto flags = Flags::Parse(arguments, CompletionFlags());
  if (!flags.ok()) return Fail(flags.status());
  const std::vector<std::string>& words = flags->positional();
  if (!words.empty() && words[0] == "words") return PrintWords(*flags);
  const auto script = CompletionScript(words.size() == 1 ? words[0] : "", "muster");
  if (!script.ok()) return Fail(script.status());
  std::printf("%s", script->c_str());
  return kExitOk;
}

}  // namespace muster::cli
