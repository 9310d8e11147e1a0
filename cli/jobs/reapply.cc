#include "cli/jobs/reapply.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/field_error.h"
#include "base/json.h"
#include "cli/jobs/worker_program.h"
#include "google/protobuf/util/message_differencer.h"
#include "operator/api/defaults.h"
#include "operator/api/validation.h"

namespace muster::cli {
namespace {

using control::TrainingJob;
using google::protobuf::util::MessageDifferencer;
using v1alpha1::TrainingJobSpec;

TrainingJobSpec Defaulted(TrainingJobSpec spec) {
  control::Default(spec);
  return spec;
}

std::string ScriptsOf(const TrainingJob& job) {
  const auto found = job.annotations.find(kScriptsAnnotation);
  return found == job.annotations.end() ? "" : found->second;
}

bool SameSpec(TrainingJobSpec a, TrainingJobSpec b) {
  a.clear_suspend();
  b.clear_suspend();
  return MessageDifferencer::Equals(a, b);
}

std::string Changed(const char* field, const std::string& was, const std::string& is) {
  return absl::StrCat(field, " was ", was, " and is ", is, " now");
}

// Describes a changed location that the run depends on: see operator/core/ending/sources.h.
std::string Moved(const char* field, const std::string& was, const std::string& is) {
  return absl::StrCat(Changed(field, was, is), ": put it back to go on with that run");
}

// Returns the worker's command with its arguments, as JSON.
std::string CommandOf(const TrainingJobSpec& spec) {
  return DumpJson(Json(ReadWorkerProgram(spec).words));
}

// Describes the first script whose contents changed. Scripts that the command no longer names are a
// change of the command itself.
std::optional<std::string> ScriptThatChanged(const TrainingJob& current,
                                             const TrainingJob& wanted) {
  const absl::StatusOr<Json> before = ParseJson(ScriptsOf(current));
  const absl::StatusOr<Json> after = ParseJson(ScriptsOf(wanted));
  if (!before.ok() || !before->is_object()) return std::nullopt;  // none were recorded
  for (const auto& [script, print] : before->items()) {
    const bool there = after.ok() && after->is_object() && after->contains(script);
    if (!there) return absl::StrCat(script, ", which the command names, is not there any more");
    if ((*after)[script] != print) {
      return absl::StrCat(script, ", which the command names, has changed since");
    }
  }
  return std::nullopt;
}

std::optional<std::string> TrainingThatDiffers(const TrainingJob& current, int64_t steps,
                                               const TrainingJob& wanted) {
  const v1alpha1::TrainerSpec& before = current.spec.trainer();
  const v1alpha1::TrainerSpec& after = wanted.spec.trainer();
  for (const FieldError& error :
       control::ValidateUpdate(Defaulted(current.spec), Defaulted(wanted.spec))) {
    if (absl::StartsWith(error.path, "spec.trainer")) {
      return absl::StrCat(error.path, " ", error.message);
    }
  }
  if (before.data().uri() != after.data().uri()) {
    return Moved("spec.trainer.data.uri", before.data().uri(), after.data().uri());
  }
  const std::string& saved = current.spec.checkpoint().uri();
  if (saved != wanted.spec.checkpoint().uri()) {
    return Moved("spec.checkpoint.uri", saved, wanted.spec.checkpoint().uri());
  }
  if (after.train().steps() < steps) {
    return absl::StrCat("it has made ", steps, " steps, and spec.trainer.train.steps is ",
                        after.train().steps(), " now");
  }
  return std::nullopt;
}

// Returns why `wanted` is another run than `current`; nullopt if it is the same one.
std::optional<std::string> Difference(const TrainingJob& current, int64_t steps,
                                      const TrainingJob& wanted) {
  if (current.spec.has_trainer() != wanted.spec.has_trainer()) {
    return Changed("its program", current.spec.has_trainer() ? "the trainer" : "a command",
                   wanted.spec.has_trainer() ? "the trainer" : "a command");
  }
  if (current.spec.has_trainer()) return TrainingThatDiffers(current, steps, wanted);
  const std::string before = CommandOf(current.spec), after = CommandOf(wanted.spec);
  if (before != after) return Changed("its command", before, after);
  return ScriptThatChanged(current, wanted);
}

std::optional<std::string> UpdateThatIsRefused(const TrainingJob& current,
                                               const TrainingJob& wanted) {
  const FieldErrors errors =
      control::ValidateUpdate(Defaulted(current.spec), Defaulted(wanted.spec));
  if (errors.empty()) return std::nullopt;
  return absl::StrCat(errors.front().path, " ", errors.front().message);
}

}  // namespace

ReapplyVerdict DecideReapply(const TrainingJob& current, int64_t steps, const TrainingJob& wanted) {
  const std::string& state = current.status.state();
  const bool trained = steps > 0 || current.status.has_checkpoint();
  const bool ran = trained || current.status.round() > 0;
  const bool ended = state == "Succeeded" || state == "Failed";
  if (ran && (state != "Failed" || trained)) {
    if (auto differs = Difference(current, steps, wanted)) return {Reapply::kRefuse, *differs};
  }
  if (ended) {
    const bool done = state == "Succeeded" && SameSpec(current.spec, wanted.spec);
    return {done ? Reapply::kKeep : Reapply::kReplace, ""};
  }
  const std::optional<std::string> refused = UpdateThatIsRefused(current, wanted);
  if (ran) return refused ? ReapplyVerdict{Reapply::kRefuse, *refused} : ReapplyVerdict{};
  // Its pods, if any, follow the old template, and wait.
  const bool same_pods =
      MessageDifferencer::Equals(current.spec.template_(), wanted.spec.template_());
  return {refused || !same_pods ? Reapply::kReplace : Reapply::kUpdate, ""};
}

}  // namespace muster::cli
