// `muster generate`: generates text from a job's newest checkpoint, or from another one.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/jobs/checkpoint_place.h"
#include "cli/jobs/local_jobs.h"
#include "cli/run/generator.h"

namespace muster::cli {
namespace {

absl::StatusOr<Json> MakeRequest(const Flags& flags) {
  if (flags.positional().size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", flags.positional()[1], "': name one job; the text goes into --prompt"));
  }
  const std::string job = flags.positional().empty() ? "" : flags.positional()[0];
  MUSTER_ASSIGN_OR_RETURN(const CheckpointPlace place, CheckpointDirectory(flags, job));
  Json request = Json::object();
  MUSTER_ASSIGN_OR_RETURN(request["checkpoint"], ChooseCheckpoint(place, flags));
  request["endpoint"] = place.store.endpoint;
  request["region"] = place.store.region;
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

absl::Status Generate(const std::vector<std::string>& arguments) {
  MUSTER_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(arguments, GenerateFlags()));
  MUSTER_ASSIGN_OR_RETURN(const Json request, MakeRequest(flags));
  return BecomeGenerator(flags, request);
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
