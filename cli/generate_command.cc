// `muster generate`: generates text from a job's newest checkpoint, or from another one.

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/job_paths.h"
#include "cli/local_jobs.h"

namespace muster::cli {
namespace {

// Returns the newest complete checkpoint in `directory`, or the one given by --step.
absl::StatusOr<std::string> ChooseCheckpoint(const std::string& directory, const Flags& flags) {
  MUSTER_ASSIGN_OR_RETURN(const int64_t step, flags.GetInt("step", -1));
  // If `directory` is itself a checkpoint, it is used directly.
  if (InspectCheckpoint(FileSystem(), directory).complete) return directory;
  MUSTER_ASSIGN_OR_RETURN(const auto listings, ListCheckpoints(FileSystem(), directory));
  for (const CheckpointListing& listing : listings) {
    if (!listing.complete || (flags.Has("step") && listing.step != step)) continue;
    return JoinPath(directory, listing.directory);
  }
  return absl::NotFoundError(absl::StrCat(directory, " has no complete checkpoint",
                                          flags.Has("step") ? absl::StrCat(" of step ", step) : "",
                                          "; `muster checkpoints --dir ", directory,
                                          "` lists those there are"));
}

absl::StatusOr<Json> MakeRequest(const Flags& flags) {
  if (flags.positional().size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", flags.positional()[1], "': name one job; the text goes into --prompt"));
  }
  const std::string job = flags.positional().empty() ? "" : flags.positional()[0];
  MUSTER_ASSIGN_OR_RETURN(const std::string directory, CheckpointDirectory(flags, job));
  Json request = Json::object();
  MUSTER_ASSIGN_OR_RETURN(request["checkpoint"], ChooseCheckpoint(directory, flags));
  const std::string prompt = flags.Get("prompt", "");
  request["prompt"] = prompt;
  if (ParseJson(DumpJson(request)).value_or(Json()) != request) {
    return absl::InvalidArgumentError("--prompt: is not valid UTF-8");
  }
  request["json"] = flags.Has("json");
  MUSTER_ASSIGN_OR_RETURN(request["maxTokens"], flags.GetInt("max-tokens", 100));
  MUSTER_ASSIGN_OR_RETURN(request["temperature"], flags.GetDouble("temperature", 0));
  MUSTER_ASSIGN_OR_RETURN(request["topK"], flags.GetInt("top-k", 0));
  MUSTER_ASSIGN_OR_RETURN(request["topP"], flags.GetDouble("top-p", 1));
  MUSTER_ASSIGN_OR_RETURN(const int64_t seed, flags.GetInt("seed", 0));
  if (seed < 0) return absl::InvalidArgumentError("--seed: want 0 or more");
  request["seed"] = seed;
  return request;
}

// Executes muster-generate, which has LibTorch. The prompt is passed as standard input, not as an
// argument, because it may be long and private.
absl::Status Become(const std::string& program, const std::string& request) {
  const int fd = memfd_create("request", MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make the request");
  if (write(fd, request.data(), request.size()) != static_cast<ssize_t>(request.size()) ||
      lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, STDIN_FILENO) < 0) {
    return absl::ErrnoToStatus(errno, "cannot hand over the request");
  }
  std::fflush(nullptr);
  execl(program.c_str(), program.c_str(), nullptr);
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot start ", program));
}

absl::Status Generate(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(arguments, GenerateFlags()));
  MUSTER_ASSIGN_OR_RETURN(const Json request, MakeRequest(flags));
  std::string program = flags.Get("generator", "");
  if (program.empty()) {
    MUSTER_ASSIGN_OR_RETURN(program,
                            FindProgram("trainer/generate", "muster-generate", "generator"));
  }
  return Become(program, DumpJson(request));
}

}  // namespace

std::vector<FlagSpec> GenerateFlags() {
  return {{"state-dir", "where jobs keep their state"},
          {"dir", "a directory of checkpoints, instead of a job's"},
          {"step", "the checkpoint after this step; default the newest"},
          {"prompt", "the text to continue; default none: a new text"},
          {"max-tokens", "how many tokens at most; default 100"},
          {"temperature",
           "0, the default, always takes the most likely token; 1 draws as often "
           "as the model says"},
          {"top-k", "draws from the k most likely tokens; default 0: all"},
          {"top-p",
           "draws from the most likely tokens that together have this probability; "
           "default 1"},
          {"seed", "of the draws; equal seeds give equal text; default 0"},
          {"json", "print each token as a JSON line with its log probability", true},
          {"generator", "path of muster-generate"}};
}

int GenerateMain(const std::vector<std::string>& arguments) { return Fail(Generate(arguments)); }

}  // namespace muster::cli
