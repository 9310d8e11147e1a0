#include "operator/core/state/trajectory.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "operator/core/state/tuned_steps.h"
#include "proto/muster/v1alpha1/checkpoint_defaults.h"

namespace muster::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Field {
  const char* path;
  bool shapes;
};

constexpr Field kFields[] = {
    {"trainer.model.preset", true},
    {"trainer.model.family", true},
    {"trainer.model.layers", true},
    {"trainer.model.heads", true},
    {"trainer.model.keyValueHeads", true},
    {"trainer.model.width", true},
    {"trainer.model.feedForwardWidth", true},
    {"trainer.model.positions", true},
    {"trainer.model.rope.theta", true},
    {"trainer.model.rope.scaling.kind", true},
    {"trainer.model.rope.scaling.factor", true},
    {"trainer.model.rope.scaling.lowFrequencyFactor", true},
    {"trainer.model.rope.scaling.highFrequencyFactor", true},
    {"trainer.model.rope.scaling.originalPositions", true},
    {"trainer.model.tiedHead", true},
    {"trainer.model.normEpsilon", true},
    {"trainer.model.vocabulary", true},
    {"trainer.model.dropout", true},
    {"trainer.model.uri", true},
    {"trainer.model.torchScript", true},
    {"trainer.data.uri", true},
    {"trainer.data.format", true},
    {"trainer.data.tokenizer.kind", true},
    {"trainer.data.tokenizer.uri", true},
    {"trainer.data.tokenizer.vocabulary", true},
    {"trainer.data.validation", true},
    {"trainer.data.tokenType", true},
    {"trainer.train.steps", true},
    {"trainer.train.globalBatch", true},
    {"trainer.train.microBatch", true},
    {"trainer.train.sequence", true},
    {"trainer.train.precision", true},
    {"trainer.train.seed", true},
    {"trainer.train.deterministic", true},
    {"trainer.train.validateEvery", true},
    {"trainer.train.validateBatches", true},
    {"trainer.train.skippedSteps.maxInRow", true},
    {"trainer.train.skippedSteps.maxTotal", true},
    {"trainer.optimizer.name", true},
    {"trainer.optimizer.learningRate", true},
    {"trainer.optimizer.schedule", true},
    {"trainer.optimizer.warmupSteps", true},
    {"trainer.optimizer.finalFraction", true},
    {"trainer.optimizer.decaySteps", true},
    {"trainer.optimizer.beta1", true},
    {"trainer.optimizer.beta2", true},
    {"trainer.optimizer.epsilon", true},
    {"trainer.optimizer.weightDecay", true},
    {"trainer.optimizer.momentum", true},
    {"trainer.optimizer.clipNorm", true},
    {"trainer.optimizer.groups", true},
    {"trainer.activations.recompute", true},
    {"trainer.activations.recomputeEvery", true},
    {"trainer.activations.compress", true},
    {"trainer.parallelism.zero", true},
    {"trainer.parallelism.shard", true},
    {"trainer.parallelism.tensor", true},
    {"trainer.parallelism.pipeline", true},
    {"trainer.parallelism.schedule", true},
    {"trainer.parallelism.chunks", true},
    {"trainer.parallelism.context", true},
    {"trainer.parallelism.contextExchange", true},
    {"trainer.parallelism.minShard", false},
    {"trainer.parallelism.offload.optimizer", true},
    {"trainer.parallelism.offload.weights", true},
    {"trainer.parallelism.offload.directory", true},
    {"trainer.communication.gradients", true},
    {"trainer.communication.weights", true},
    {"trainer.logs.tensorBoard", false},
    {"trainer.watch.onSpike", true},
    {"trainer.watch.deviations", true},
    {"trainer.watch.rateFactor", true},
    {"trainer.watch.maxInRow", true},
    {"trainer.watch.compareEvery", true},
    // Ranks agree on these by their vote: each says how many it knows.
    {"trainer.tunings", false},
    {"checkpoint.uri", true},
    {"checkpoint.interval.mode", true},
    {"checkpoint.interval.steps", true},
    {"checkpoint.interval.time", true},
    {"checkpoint.interval.min", false},
    {"checkpoint.interval.max", true},
    {"checkpoint.keep", false},
    {"checkpoint.onDamage", false},
    {"checkpoint.giveUp", false},
    {"checkpoint.memory.everySteps", true},
    {"checkpoint.memory.size", false},
    {"checkpoint.memory.replicas", false},
    {"checkpoint.memory.disk.path", false},
    {"checkpoint.memory.disk.every", false},
    {"checkpoint.s3.endpoint", true},
    {"checkpoint.s3.region", true},
    {"checkpoint.s3.credentialsSecret", false},
    {"workers", false},
    {"topology", false},
    {"template", false},
    {"failurePolicy", false},
    {"elastic", false},
    {"suspend", false},
    {"activeDeadline", false},
    {"ttlSecondsAfterFinished", false},
    {"successPolicy", false},
    {"managedBy", false},
    {"queue", false},
    {"priorityClassName", false},
    {"alerts", false},
    {"spot", false},
};

bool IsLeftOut(const std::string& path) {
  return std::any_of(std::begin(kFields), std::end(kFields),
                     [&](const Field& field) { return !field.shapes && path == field.path; });
}

// Appends every field that is set, in the order of field numbers.
void Append(const Message& message, const std::string& prefix, std::string& text) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->json_name());
    if (IsLeftOut(path)) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated()) {
      Append(message.GetReflection()->GetMessage(message, field), path + ".", text);
      continue;
    }
    const int items = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < items; ++i) {
      std::string value;
      const int index = field->is_repeated() ? i : -1;
      google::protobuf::TextFormat::PrintFieldValueToString(message, field, index, &value);
      absl::StrAppend(&text, path, "=", value, ";");
    }
  }
}

std::vector<std::string> Paths(bool shapes) {
  std::vector<std::string> paths;
  for (const Field& field : kFields) {
    if (field.shapes == shapes) paths.emplace_back(field.path);
  }
  return paths;
}

// Returns where the store of checkpoint.uri is; empty for AWS in its first region, which is meant
// without checkpoint.s3.
std::string StoreOf(const v1alpha1::TrainingJobSpec& spec) {
  const v1alpha1::S3Spec& store = spec.checkpoint().s3();
  const bool first = v1alpha1::RegionOf(store) == v1alpha1::RegionOf({});
  const std::string region = first ? "" : store.region();
  if (store.endpoint().empty() && region.empty()) return "";
  return absl::StrCat("|", store.endpoint(), "|", region);
}

}  // namespace

std::string TrajectoryDigest(const v1alpha1::TrainingJobSpec& spec) {
  if (!spec.has_trainer()) return "";
  std::string text;
  Append(spec, "", text);
  return absl::StrCat(ToHex(Hash64(text)),
                      ToHex(Hash64(absl::StrCat(spec.trainer().data().SerializeAsString(), "|",
                                                spec.checkpoint().uri(), StoreOf(spec)))));
}

std::string SourcesOf(const std::string& trajectory) {
  constexpr size_t kDigits = 16;
  return trajectory.size() == 2 * kDigits ? trajectory.substr(kDigits) : "";
}

v1alpha1::TrainingJobSpec RoundSpec(const v1alpha1::TrainingJobSpec& spec,
                                    const v1alpha1::TrainingJobStatus& status) {
  v1alpha1::TrainingJobSpec round = spec;
  round.clear_template_();
  NoteTunedSteps(status, round);
  return round;
}

std::vector<std::string> FieldsThatShapeTheTrajectory() { return Paths(true); }
std::vector<std::string> FieldsOutsideTrajectory() { return Paths(false); }

}  // namespace muster::control
