#include "cli/jobs/history.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"

namespace muster::cli {
namespace {

using v1alpha1::PhaseTimes;
using v1alpha1::StepReport;

constexpr size_t kMaxHistoryBytes = size_t{1} << 30;

Json ToJson(const v1alpha1::Tuning& tuning) {
  Json json = {{"step", tuning.step()}};
  if (tuning.has_learning_rate()) json["learningRate"] = tuning.learning_rate();
  if (tuning.has_clip_norm()) json["clipNorm"] = tuning.clip_norm();
  return json;
}

Json ToJson(const StepReport& step) {
  const PhaseTimes& t = step.times();
  Json json = {{"step", step.version().step()},
               {"attempt", step.version().attempt()},
               {"loss", step.loss()},
               {"gradientNorm", step.gradient_norm()},
               {"learningRate", step.learning_rate()},
               {"applied", step.applied()},
               {"tokens", step.tokens()},
               {"finishedAtMicros", step.finished_at_us()},
               {"seconds",
                {t.init(), t.compute(), t.data(), t.communication(), t.checkpoint(), t.recovery(),
                 t.other()}}};
  if (step.has_validation_loss()) json["validationLoss"] = step.validation_loss();
  if (step.has_unigram_entropy()) json["unigramEntropy"] = step.unigram_entropy();
  if (step.has_loss_scale()) json["lossScale"] = step.loss_scale();
  if (step.spikes_total() > 0) json["spikes"] = step.spikes_total();
  if (!step.spike().empty()) json["spike"] = step.spike();
  if (step.tunings() > 0) {
    json["tunings"] = step.tunings();
    json["tuning"] = ToJson(step.tuning());
  }
  return json;
}

double Number(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_number() ? it->get<double>() : 0;
}

// A number that is not finite is written as null.
double NumberOrNan(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_null() ? std::nan("") : Number(json, key);
}

void ReadTuning(const Json& json, StepReport& step) {
  step.set_tunings(static_cast<int32_t>(Number(json, "tunings")));
  const auto found = json.find("tuning");
  if (found == json.end() || !found->is_object()) return;
  v1alpha1::Tuning& tuning = *step.mutable_tuning();
  tuning.set_step(static_cast<int64_t>(Number(*found, "step")));
  if (found->contains("learningRate")) tuning.set_learning_rate(Number(*found, "learningRate"));
  if (found->contains("clipNorm")) tuning.set_clip_norm(Number(*found, "clipNorm"));
}

// Returns false for an invalid line, such as one torn by a crash.
bool FromJson(const std::string& line, StepReport& step) {
  const absl::StatusOr<Json> json = ParseJson(line, 1 << 16);
  if (!json.ok() || !json->is_object() || Number(*json, "step") < 1) return false;
  step.mutable_version()->set_step(static_cast<int64_t>(Number(*json, "step")));
  step.mutable_version()->set_attempt(static_cast<int64_t>(Number(*json, "attempt")));
  step.set_loss(json->contains("loss") ? NumberOrNan(*json, "loss") : std::nan(""));
  step.set_gradient_norm(NumberOrNan(*json, "gradientNorm"));
  step.set_learning_rate(Number(*json, "learningRate"));
  step.set_applied(json->value("applied", Json()) == Json(true));
  step.set_tokens(static_cast<int64_t>(Number(*json, "tokens")));
  step.set_finished_at_us(static_cast<int64_t>(Number(*json, "finishedAtMicros")));
  if (json->contains("validationLoss")) {
    step.set_validation_loss(NumberOrNan(*json, "validationLoss"));
  }
  if (json->contains("unigramEntropy")) {
    step.set_unigram_entropy(NumberOrNan(*json, "unigramEntropy"));
  }
  if (json->contains("lossScale")) {
    step.set_loss_scale(static_cast<int64_t>(Number(*json, "lossScale")));
  }
  step.set_spikes_total(static_cast<int64_t>(Number(*json, "spikes")));
  step.set_spike(StringField(*json, "spike"));
  ReadTuning(*json, step);
  const auto seconds = json->find("seconds");
  if (seconds == json->end() || !seconds->is_array() || seconds->size() != 7) return true;
  const auto at = [&](int i) {
    return (*seconds)[i].is_number() ? (*seconds)[i].get<double>() : 0;
  };
  PhaseTimes& t = *step.mutable_times();
  t.set_init(at(0));
  t.set_compute(at(1));
  t.set_data(at(2));
  t.set_communication(at(3));
  t.set_checkpoint(at(4));
  t.set_recovery(at(5));
  t.set_other(at(6));
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<History>> History::Load(Files& files, const std::string& path) {
  std::unique_ptr<History> history(new History);
  const absl::StatusOr<std::string> text = ReadFile(files, path, kMaxHistoryBytes);
  if (absl::IsNotFound(text.status())) return history;
  if (!text.ok()) return text.status();
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    StepReport step;
    if (FromJson(line, step)) history->Keep(step);
  }
  return history;
}

absl::StatusOr<std::unique_ptr<History>> History::Open(Files& files, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<History> history, Load(files, path));
  MUSTER_ASSIGN_OR_RETURN(history->file_, files.Create(path, CreateMode::kAppend));
  // Terminates a line that a crash may have torn.
  MUSTER_RETURN_IF_ERROR(history->file_->Append("\n"));
  return history;
}

absl::Status History::Add(const StepReport& step) {
  Keep(step);
  if (file_ == nullptr) return absl::OkStatus();
  return file_->Append(absl::StrCat(DumpJson(ToJson(step)), "\n"));
}

void History::Keep(const StepReport& step) {
  // A step that is not newer means that training went back: the later steps are void.
  steps_.erase(steps_.lower_bound(step.version().step()), steps_.end());
  steps_[step.version().step()] = step;
}

std::vector<LossPoint> History::Curve() const {
  std::vector<LossPoint> points;
  points.reserve(steps_.size());
  for (const auto& [number, step] : steps_) {
    LossPoint point{number, step.loss(), std::nullopt};
    if (step.has_validation_loss()) point.validation_loss = step.validation_loss();
    points.push_back(point);
  }
  return points;
}

std::optional<double> History::last_validation_loss() const {
  for (auto it = steps_.rbegin(); it != steps_.rend(); ++it) {
    if (it->second.has_validation_loss()) return it->second.validation_loss();
  }
  return std::nullopt;
}

std::optional<double> History::best_validation_loss() const {
  std::optional<double> best;
  for (const auto& [number, step] : steps_) {
    if (step.has_validation_loss() && std::isfinite(step.validation_loss())) {
      best = std::min(best.value_or(step.validation_loss()), step.validation_loss());
    }
  }
  return best;
}

std::optional<double> History::unigram_entropy() const {
  for (auto it = steps_.rbegin(); it != steps_.rend(); ++it) {
    if (it->second.has_unigram_entropy()) return it->second.unigram_entropy();
  }
  return std::nullopt;
}

double History::tokens_per_second() const {
  double tokens = 0, seconds = 0;
  for (const auto& [number, step] : steps_) {
    const PhaseTimes& t = step.times();
    tokens += static_cast<double>(step.tokens());
    seconds += t.compute() + t.data() + t.communication() + t.checkpoint() + t.other();
  }
  return seconds > 0 ? tokens / seconds : 0;
}

}  // namespace muster::cli
