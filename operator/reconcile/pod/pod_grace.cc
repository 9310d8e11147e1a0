#include "operator/reconcile/pod/pod_grace.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "base/json_fields.h"
#include "planner/memory.h"
#include "planner/model_presets.h"

namespace muster::control {
namespace {

constexpr absl::Duration kUsual = absl::Seconds(30);  // the API server's default
constexpr absl::Duration kLongest = absl::Minutes(30);
// A slow network file system.
constexpr int64_t kBytesPerSecond = 100'000'000;
// The vocabulary where the job does not say how large it is: GPT-2's.
constexpr int32_t kVocabulary = 50304;
constexpr char kField[] = "terminationGracePeriodSeconds";

// Returns 0 if the sizes of the model are not known: those of a TorchScript file stand in it alone,
// and a job whose sizes are wrong is refused before it has pods.
int64_t CheckpointBytes(const v1alpha1::TrainerSpec& trainer) {
  const v1alpha1::TokenizerSpec& tokenizer = trainer.data().tokenizer();
  const int32_t vocabulary = tokenizer.has_vocabulary() ? tokenizer.vocabulary() : kVocabulary;
  const bool known = trainer.model().vocabulary() > 0;
  const auto shape = planner::ResolveModel(trainer.model(), known ? 0 : vocabulary);
  const auto precision = planner::ParsePrecision(trainer.train().precision());
  const auto optimizer =
      planner::ParseOptimizer(trainer.optimizer().name(), trainer.optimizer().momentum());
  if (!shape.ok() || !precision.ok() || !optimizer.ok()) return 0;
  return planner::EstimateMemory(*shape, *precision, trainer.train().micro_batch(),
                                 trainer.train().sequence(), *optimizer)
      .checkpoint_copy;
}

}  // namespace

absl::Duration TerminationGrace(const v1alpha1::TrainingJobSpec& spec) {
  if (!spec.has_trainer() || !spec.has_checkpoint()) return kUsual;
  const int64_t seconds = CheckpointBytes(spec.trainer()) / kBytesPerSecond;
  return std::min(kUsual + absl::Seconds(seconds), kLongest);
}

absl::Duration SetTerminationGrace(const v1alpha1::TrainingJobSpec& spec, Json& pod_spec) {
  const std::optional<int64_t> given = IntegerField(pod_spec, kField);
  if (given) return absl::Seconds(std::max(*given, int64_t{0}));
  const absl::Duration grace = TerminationGrace(spec);
  if (!pod_spec.contains(kField)) pod_spec[kField] = absl::ToInt64Seconds(grace);
  return grace;
}

}  // namespace muster::control
