#include "planner/plan_spec.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/activations.h"
#include "planner/layout.h"
#include "planner/model_presets.h"

namespace muster::planner {
namespace {

// The tokens of a text's bytes, when a tokenizer names no vocabulary.
constexpr int32_t kByteVocabulary = 256;

int32_t TokenizerVocabulary(const v1alpha1::DataSpec& data) {
  if (data.tokenizer().kind() != "Bpe") return data.format() == "Tokens" ? 0 : kByteVocabulary;
  return data.tokenizer().vocabulary();
}

PipelineSchedule ScheduleOf(const std::string& name) {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::kZeroBubble, PipelineSchedule::kInterleaved,
        PipelineSchedule::kZeroBubbleV}) {
    if (Name(schedule) == name) return schedule;
  }
  return PipelineSchedule::kOneForwardOneBackward;
}

}  // namespace

absl::StatusOr<PlanRequest> RequestOf(const v1alpha1::TrainingJobSpec& spec, const Device& device,
                                      const Wiring& wiring, int64_t ranks, int ranks_of_worker) {
  if (!spec.has_trainer()) {
    return absl::InvalidArgumentError(
        "the job runs a command, and only the built-in trainer's steps can be planned: it has no "
        "spec.trainer");
  }
  const v1alpha1::TrainerSpec& trainer = spec.trainer();
  if (trainer.model().has_torch_script()) {
    return absl::InvalidArgumentError(
        "a model of model.torchScript says nothing of its layers, so its steps cannot be planned");
  }
  PlanRequest request{.device = device, .wiring = wiring, .engine = MusterEngine()};
  const auto shape = ResolveModel(trainer.model(), TokenizerVocabulary(trainer.data()));
  if (!shape.ok()) {
    return absl::Status(shape.status().code(),
                        absl::StrCat("trainer.model: ", shape.status().message()));
  }
  const auto precision = ParsePrecision(trainer.train().precision());
  if (!precision.ok()) return precision.status();
  const auto optimizer = ParseOptimizer(trainer.optimizer().name(), trainer.optimizer().momentum());
  if (!optimizer.ok()) return optimizer.status();
  request.work = {.shape = *shape,
                  .precision = *precision,
                  .sequence = trainer.train().sequence(),
                  .global_batch = trainer.train().global_batch()};
  request.optimizer = *optimizer;
  const v1alpha1::CommunicationSpec& sent = trainer.communication();
  if (sent.gradients() == "BF16") request.engine.gradient_bytes = 2;
  if (sent.gradients() == "INT8") request.engine.gradient_bytes = 1;
  if (sent.weights() == "BF16") {
    request.engine.weight_bytes = 2;
    request.divides_weights = true;
  }
  request.ranks = ranks;
  request.ranks_of_worker = ranks_of_worker;
  return request;
}

Layout LayoutOf(const v1alpha1::TrainerSpec& trainer, int64_t ranks) {
  const v1alpha1::ParallelismSpec& parallelism = trainer.parallelism();
  const int64_t workers = std::max<int64_t>(1, ranks / std::max(1, RanksOfMicroBatch(parallelism)));
  const ActivationOptions activations = ActivationsOf(trainer.activations());
  Layout layout;
  layout.zero = parallelism.zero();
  layout.shard = layout.zero == 0          ? 1
                 : parallelism.has_shard() ? ShardOf(parallelism)
                                           : static_cast<int32_t>(workers);
  layout.data = static_cast<int32_t>(std::max<int64_t>(1, workers / layout.shard));
  layout.tensor = TensorOf(parallelism);
  layout.pipeline = PipelineOf(parallelism);
  layout.context = ContextOf(parallelism);
  layout.ring = layout.context > 1 && parallelism.context_exchange() == "Ring";
  layout.schedule = ScheduleOf(parallelism.schedule());
  layout.chunks = ChunksOf(parallelism);
  layout.micro_batch = std::max(1, trainer.train().micro_batch());
  layout.recompute = activations.recompute_every > 0 ? Recompute::kFull : Recompute::kNone;
  layout.recompute_every = std::max(1, activations.recompute_every);
  layout.offload = parallelism.offload().optimizer() == "Disk";
  return layout;
}

void ApplyLayout(const Layout& layout, v1alpha1::TrainerSpec& trainer) {
  v1alpha1::ParallelismSpec& parallelism = *trainer.mutable_parallelism();
  parallelism.set_zero(layout.zero);
  parallelism.clear_shard();
  parallelism.clear_min_shard();
  if (layout.zero > 0) parallelism.set_shard(layout.shard);
  parallelism.set_tensor(layout.tensor);
  parallelism.set_pipeline(layout.pipeline);
  parallelism.set_context(layout.context);
  parallelism.set_context_exchange(layout.ring ? "Ring" : "Heads");
  parallelism.set_schedule(std::string(Name(layout.schedule)));
  parallelism.set_chunks(layout.schedule == PipelineSchedule::kInterleaved ? layout.chunks : 1);
  parallelism.clear_offload();
  if (layout.offload) {
    parallelism.mutable_offload()->set_optimizer("Disk");
    parallelism.mutable_offload()->set_weights("Memory");
    parallelism.mutable_offload()->set_directory("/scratch");
  }
  const bool full = layout.recompute == Recompute::kFull;
  v1alpha1::ActivationsSpec& activations = *trainer.mutable_activations();
  activations.set_recompute(full ? "Full" : "None");
  activations.set_recompute_every(full ? layout.recompute_every : 1);
  trainer.mutable_train()->set_micro_batch(layout.micro_batch);
}

std::string LayoutYaml(const Layout& layout, int indent) {
  std::vector<std::string> fields;
  const auto axis = [&](const char* name, int32_t extent) {
    if (extent > 1) fields.push_back(absl::StrCat(name, ": ", extent));
  };
  axis("tensor", layout.tensor);
  axis("pipeline", layout.pipeline);
  axis("context", layout.context);
  if (layout.ring) fields.push_back("contextExchange: Ring");
  if (layout.schedule != PipelineSchedule::kOneForwardOneBackward) {
    fields.push_back(absl::StrCat("schedule: ", Name(layout.schedule)));
  }
  if (layout.schedule == PipelineSchedule::kInterleaved) axis("chunks", layout.chunks);
  if (layout.zero > 0) fields.push_back(absl::StrCat("zero: ", layout.zero));
  if (layout.zero > 0) fields.push_back(absl::StrCat("shard: ", layout.shard));
  if (layout.offload) fields.push_back("offload: {optimizer: Disk, directory: /scratch}");
  const std::string space(static_cast<size_t>(indent), ' ');
  std::string yaml = absl::StrCat(space, "train: {microBatch: ", layout.micro_batch, "}\n", space,
                                  "parallelism: {", absl::StrJoin(fields, ", "), "}\n");
  if (layout.recompute == Recompute::kFull) {
    const std::string every = layout.recompute_every > 1
                                  ? absl::StrCat(", recomputeEvery: ", layout.recompute_every)
                                  : "";
    absl::StrAppend(&yaml, space, "activations: {recompute: Full", every, "}\n");
  }
  return yaml;
}

std::string LayoutText(const Layout& layout) {
  std::vector<std::string> parts;
  const auto axis = [&](const char* name, int32_t extent) {
    if (extent > 1) parts.push_back(absl::StrCat(name, " ", extent));
  };
  axis("data", layout.data);
  if (layout.zero > 0) parts.push_back(absl::StrCat("zero ", layout.zero));
  axis("shard", layout.shard);
  axis("tensor", layout.tensor);
  axis("context", layout.context);
  if (layout.ring) parts.back() += " as a ring";
  if (layout.pipeline > 1) {
    const std::string chunks = layout.schedule == PipelineSchedule::kInterleaved
                                   ? absl::StrCat(" of ", layout.chunks, " chunks")
                                   : "";
    parts.push_back(absl::StrCat("pipeline ", layout.pipeline, " ", Name(layout.schedule), chunks));
  }
  parts.push_back(absl::StrCat("micro-batch ", layout.micro_batch));
  if (layout.recompute == Recompute::kFull) {
    parts.push_back(layout.recompute_every > 1
                        ? absl::StrCat("recompute every ", layout.recompute_every)
                        : std::string("recompute"));
  }
  if (layout.offload) parts.emplace_back("optimizer on disk");
  return absl::StrJoin(parts, ", ");
}

}  // namespace muster::planner
