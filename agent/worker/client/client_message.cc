#include "agent/worker/client/client_message.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

using v1alpha1::FromTrainer;
using v1alpha1::StepReport;

// Any double can hold it, so no client that counts in doubles loses a step.
constexpr int64_t kMaxCount = int64_t{1} << 53;
constexpr size_t kMaxDirectory = 1024;

absl::Status Wrong(absl::string_view path, absl::string_view wants) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": wants ", wants));
}

// Reads a count from 0; `otherwise` if it is absent.
absl::StatusOr<int64_t> Count(const Json& object, absl::string_view path, const std::string& name,
                              std::optional<int64_t> otherwise) {
  if (ValueField(object, name).is_null() && otherwise) return *otherwise;
  const std::optional<int64_t> value = IntegerField(object, name);
  if (value && *value >= 0 && *value <= kMaxCount) return *value;
  return Wrong(absl::StrCat(path, ".", name), "a whole number from 0 to 2^53");
}

// Reads any number; nullopt if it is absent or null, as a value that is not finite is sent.
absl::StatusOr<std::optional<double>> Number(const Json& object, absl::string_view path,
                                             const std::string& name) {
  const Json& value = ValueField(object, name);
  if (value.is_null()) return std::nullopt;
  if (value.is_number()) return value.get<double>();
  return Wrong(absl::StrCat(path, ".", name), "a number or null");
}

absl::StatusOr<FromTrainer> ParseReport(const Json& report) {
  if (!report.is_object()) return Wrong("report", "an object");
  FromTrainer message;
  StepReport& step = *message.mutable_steps()->add_steps();
  MUSTER_ASSIGN_OR_RETURN(const int64_t number, Count(report, "report", "step", std::nullopt));
  MUSTER_ASSIGN_OR_RETURN(const int64_t tokens, Count(report, "report", "tokens", 0));
  MUSTER_ASSIGN_OR_RETURN(const int64_t total, Count(report, "report", "steps", 0));
  MUSTER_ASSIGN_OR_RETURN(const auto loss, Number(report, "report", "loss"));
  MUSTER_ASSIGN_OR_RETURN(const auto validation, Number(report, "report", "validationLoss"));
  MUSTER_ASSIGN_OR_RETURN(const auto rate, Number(report, "report", "learningRate"));
  MUSTER_ASSIGN_OR_RETURN(const auto norm, Number(report, "report", "gradientNorm"));
  step.mutable_version()->set_step(number);
  step.set_tokens(tokens);
  step.set_total_steps(total);
  step.set_loss(loss.value_or(std::numeric_limits<double>::quiet_NaN()));
  // A step that was reported without a loss was not skipped.
  const bool has_loss = report.contains("loss");
  step.set_applied(!has_loss || std::isfinite(step.loss()));
  if (validation) step.set_validation_loss(*validation);
  step.set_learning_rate(rate.value_or(0));
  step.set_gradient_norm(norm.value_or(0));
  return message;
}

absl::StatusOr<FromTrainer> ParseCheckpoint(const Json& checkpoint) {
  if (!checkpoint.is_object()) return Wrong("checkpoint", "an object");
  FromTrainer message;
  v1alpha1::CheckpointReport& report = *message.mutable_checkpoint();
  MUSTER_ASSIGN_OR_RETURN(const int64_t step,
                          Count(checkpoint, "checkpoint", "step", std::nullopt));
  std::string directory = StringField(checkpoint, "directory");
  if (directory.empty() || directory.size() > kMaxDirectory) {
    return Wrong("checkpoint.directory", absl::StrCat("a name of 1 to ", kMaxDirectory, " bytes"));
  }
  report.set_phase(v1alpha1::CheckpointReport::WRITTEN);
  report.mutable_version()->set_step(step);
  // A path of its own does not lie below spec.checkpoint.uri.
  if (directory.front() == '/') report.set_uri(directory);
  report.set_directory(std::move(directory));
  return message;
}

}  // namespace

absl::StatusOr<FromTrainer> ParseClientPacket(std::string_view packet) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, ParseJson(packet, kMaxClientPacket));
  if (!json.is_object() || json.size() != 1) return Wrong("packet", "an object of one field");
  const std::string& kind = json.begin().key();
  const Json& value = json.begin().value();
  if (kind == "report") return ParseReport(value);
  if (kind == "checkpoint") return ParseCheckpoint(value);
  if (kind != "watch") return Wrong("packet", "report, checkpoint or watch");
  if (value != true) return Wrong("watch", "true");
  FromTrainer message;
  message.mutable_hello();
  return message;
}

std::string FormatClientNotice(const ClientNotice& notice) {
  Json json = {{"muster", 1}, {"saves", notice.saves}};
  if (notice.leave_in) json["leaveIn"] = *notice.leave_in;
  return DumpJson(json);
}

}  // namespace muster::agent
