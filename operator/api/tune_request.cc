#include "operator/api/tune_request.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "operator/api/defaults.h"
#include "operator/api/validation.h"
#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::control {
namespace {

using v1alpha1::TrainingJobSpec;
using v1alpha1::TrainingJobStatus;
using v1alpha1::TuningSpec;

constexpr char kKnown[] = "learningRate, clipNorm, fromStep, globalBatch and by";

absl::Status Read(const std::string& name, const Json& value, TuneRequest& request) {
  if (name == "by" && value.is_string()) {
    request.by = value.get<std::string>();
  } else if ((name == "fromStep" || name == "globalBatch") && value.is_number_integer()) {
    (name == "fromStep" ? request.from_step : request.global_batch) = value.get<int64_t>();
  } else if ((name == "learningRate" || name == "clipNorm") && value.is_number()) {
    (name == "clipNorm" ? request.clip_norm : request.learning_rate) = value.get<double>();
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "=", DumpJson(value), ": there are ", kKnown,
                     "; by is a text, fromStep and globalBatch are whole numbers"));
  }
  return absl::OkStatus();
}

bool AddsTuning(const TuneRequest& request) {
  return request.learning_rate.has_value() || request.clip_norm.has_value();
}

// Changes come into force in the order of the list, so that a new one would wait for these.
absl::Status CheckOrder(const TuneRequest& request, const TrainingJobStatus& status,
                        const TrainingJobSpec& spec) {
  int64_t latest = 0;
  for (int i = status.tunings_size(); i < spec.trainer().tunings_size(); ++i) {
    latest = std::max(latest, spec.trainer().tunings(i).from_step());
  }
  if (latest <= request.from_step.value_or(0)) return absl::OkStatus();
  // The next step may be as late as that one.
  if (!request.from_step && status.progress().step() + 1 >= latest) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("an earlier change waits for step ", latest,
                   ", and changes come into force in the order in which they are asked for: ask "
                   "for this one from step ",
                   latest, " or a later one"));
}

absl::Status CheckFits(const TuneRequest& request, const TrainingJobSpec& spec) {
  const int64_t steps = spec.trainer().train().steps();
  if (request.from_step && !AddsTuning(request)) {
    return absl::InvalidArgumentError(
        "fromStep: says from which step on learningRate and clipNorm are for, and neither is "
        "given");
  }
  if (request.from_step && *request.from_step > steps) {
    return absl::InvalidArgumentError(absl::StrCat("fromStep: the run has ", steps,
                                                   " steps, and step ", *request.from_step,
                                                   " is not one of them"));
  }
  return absl::OkStatus();
}

// Returns the first error that the change makes. Others are not the caller's concern.
absl::Status CheckChanged(const TrainingJobSpec& before, const TrainingJobSpec& after) {
  TrainingJobSpec defaulted_before = before, defaulted = after;
  Default(defaulted_before);
  Default(defaulted);
  FieldErrors errors = Validate(defaulted);
  const FieldErrors frozen = ValidateUpdate(defaulted_before, defaulted);
  errors.insert(errors.end(), frozen.begin(), frozen.end());
  for (const FieldError& old : Validate(defaulted_before)) std::erase(errors, old);
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(errors.front().path, ": ", errors.front().message));
}

TuningSpec ItemOf(const TuneRequest& request) {
  TuningSpec item;
  if (request.from_step) item.set_from_step(*request.from_step);
  if (request.learning_rate) item.set_learning_rate(*request.learning_rate);
  if (request.clip_norm) item.set_clip_norm(*request.clip_norm);
  if (!request.by.empty()) item.set_by(request.by);
  return item;
}

bool IsFinite(const std::optional<double>& value) { return !value || std::isfinite(*value); }

}  // namespace

Json ToJson(const TuneRequest& request) {
  Json json = Json::object();
  if (request.learning_rate) json["learningRate"] = *request.learning_rate;
  if (request.clip_norm) json["clipNorm"] = *request.clip_norm;
  if (request.from_step) json["fromStep"] = *request.from_step;
  if (request.global_batch) json["globalBatch"] = *request.global_batch;
  if (!request.by.empty()) json["by"] = request.by;
  return json;
}

absl::StatusOr<TuneRequest> ParseTuneRequest(const Json& json) {
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat("want an object with fields of ", kKnown));
  }
  TuneRequest request;
  for (const auto& [name, value] : json.items()) {
    MUSTER_RETURN_IF_ERROR(Read(name, value, request));
  }
  return request;
}

absl::StatusOr<std::optional<int>> Tune(const TuneRequest& request, const TrainingJobStatus& status,
                                        TrainingJobSpec& spec) {
  if (!spec.has_trainer()) {
    return absl::InvalidArgumentError(
        "the job runs a command of its own: only what the built-in trainer trains can be tuned");
  }
  if (!AddsTuning(request) && !request.global_batch) {
    return absl::InvalidArgumentError(
        "changes nothing: give learningRate, clipNorm or globalBatch");
  }
  if (!IsFinite(request.learning_rate) || !IsFinite(request.clip_norm)) {
    return absl::InvalidArgumentError("learningRate and clipNorm are finite numbers");
  }
  MUSTER_RETURN_IF_ERROR(CheckFits(request, spec));
  TrainingJobSpec changed = spec;
  if (request.global_batch) {
    changed.mutable_trainer()->mutable_train()->set_global_batch(
        static_cast<int32_t>(std::clamp<int64_t>(*request.global_batch, -1, INT32_MAX)));
  }
  std::optional<int> place;
  if (AddsTuning(request)) {
    if (spec.trainer().tunings_size() >= v1alpha1::kMaxTunings) {
      return absl::FailedPreconditionError(
          absl::StrCat("the job has had ", v1alpha1::kMaxTunings,
                       " changes, which is as many as spec.trainer.tunings may list"));
    }
    place = changed.trainer().tunings_size();
    *changed.mutable_trainer()->add_tunings() = ItemOf(request);
  }
  MUSTER_RETURN_IF_ERROR(CheckChanged(spec, changed));
  if (place) MUSTER_RETURN_IF_ERROR(CheckOrder(request, status, spec));
  spec = std::move(changed);
  return place;
}

std::string DescribeRequest(const TuneRequest& request) {
  std::vector<std::string> parts;
  if (request.learning_rate)
    parts.push_back(absl::StrCat("learning rate ", *request.learning_rate));
  if (request.clip_norm) parts.push_back(absl::StrCat("clip norm ", *request.clip_norm));
  const std::string from = request.from_step ? absl::StrCat("step ", *request.from_step)
                                             : "the next step that all ranks can begin with it";
  std::string text =
      parts.empty() ? "" : absl::StrCat(absl::StrJoin(parts, ", "), " from ", from, " on");
  if (request.global_batch) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "global batch ", *request.global_batch,
                    " from the next round on, which opens now");
  }
  return text;
}

}  // namespace muster::control
