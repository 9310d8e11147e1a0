#include "cli/jobs/tune_words.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/environment.h"
#include "base/status_macros.h"
#include "cli/flags/invocation.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/tuned_steps.h"

namespace muster::cli {
namespace {

constexpr size_t kMostOfName = 253;

absl::StatusOr<double> Number(const std::string& key, const std::string& text) {
  double value = 0;
  if (absl::SimpleAtod(text, &value) && std::isfinite(value)) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(key, "=", text, ": wants a number such as 1e-4 or 0.5"));
}

absl::StatusOr<int64_t> Whole(const std::string& key, const std::string& text) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= 1) return value;
  return absl::InvalidArgumentError(absl::StrCat(key, "=", text, ": wants a whole number, from 1"));
}

template <typename Value>
absl::Status Set(const std::string& key, absl::StatusOr<Value> value, std::optional<Value>& field) {
  MUSTER_RETURN_IF_ERROR(value.status());
  if (field) return absl::InvalidArgumentError(absl::StrCat(key, ": is given twice"));
  field = *value;
  return absl::OkStatus();
}

absl::Status ReadWord(const std::string& word, control::TuneRequest& request) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
  const auto& [key, text] = parts;
  if (key == "learningRate") return Set(key, Number(key, text), request.learning_rate);
  if (key == "clipNorm") return Set(key, Number(key, text), request.clip_norm);
  if (key == "globalBatch") return Set(key, Whole(key, text), request.global_batch);
  return absl::InvalidArgumentError(absl::StrCat(
      "'", word, "': can be changed are learningRate=NUMBER, clipNorm=NUMBER and ",
      "globalBatch=NUMBER", DidYouMean(key, {"learningRate", "clipNorm", "globalBatch"})));
}

}  // namespace

std::vector<FlagSpec> TuneOnlyFlags() {
  return {{"from-step",
           "the first step with the change; default the next one that all ranks can begin with it"},
          {"wait", "wait until the change is in force, and say from which step on",
           /*is_switch=*/true}};
}

absl::StatusOr<TuneCall> ReadTuneCall(const Flags& flags) {
  const std::vector<std::string>& words = flags.positional();
  if (words.empty() || words[0].find('=') != std::string::npos) {
    return absl::InvalidArgumentError(
        "name one job before its changes: tune JOB learningRate=1e-4");
  }
  if (words.size() == 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("say what to change: tune ", words[0],
                     " learningRate=1e-4; there are clipNorm and globalBatch, too"));
  }
  TuneCall call;
  call.job = words[0];
  for (size_t i = 1; i < words.size(); ++i) {
    MUSTER_RETURN_IF_ERROR(ReadWord(words[i], call.request));
  }
  const bool tunes = call.request.learning_rate || call.request.clip_norm;
  if (flags.Has("from-step")) {
    MUSTER_RETURN_IF_ERROR(Set("--from-step", Whole("--from-step", flags.Get("from-step", "")),
                               call.request.from_step));
  }
  call.wait = flags.Has("wait");
  if (!tunes && (call.wait || call.request.from_step)) {
    return absl::InvalidArgumentError(
        "--wait and --from-step are about learningRate and clipNorm, and neither is given");
  }
  return call;
}

std::string CallerName(const std::string& user) {
  return (user.empty() ? EnvironmentVariable("USER") : user).substr(0, kMostOfName);
}

absl::StatusOr<std::optional<std::string>> InForce(const control::TrainingJob& job, int place) {
  if (place < job.status.tunings_size()) {
    return absl::StrCat("job ", job.name, ": ", control::DescribeTuning(job.status.tunings(place)));
  }
  const std::string& state = job.status.state();
  if (control::IsFinished(job.status) || state == "Suspended") {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name, " is ", state, ", and the change has not come into force"));
  }
  return std::nullopt;
}

}  // namespace muster::cli
