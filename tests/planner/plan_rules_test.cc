// A layout that the planner accepts is one that the manifest's rules accept, and the other way
// round.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "operator/api/defaults.h"
#include "operator/api/manifest.h"
#include "operator/api/validation.h"
#include "planner/plan_spec.h"
#include "planner/search.h"

namespace muster::planner {
namespace {

constexpr char kJob[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: planned}
spec:
  workers: {count: 8, gpus: 8}
  trainer:
    model: {family: llama, layers: 24, heads: 24, keyValueHeads: 12, width: 3072, positions: 4096, vocabulary: 32000}
    data: {uri: tokens.bin, format: Tokens}
    train: {steps: 10, globalBatch: 96, microBatch: 1, sequence: 1536, precision: bf16}
  checkpoint: {uri: out}
)";

bool IsRule(Refusal refusal) { return refusal < Refusal::kWeights; }

v1alpha1::TrainingJobSpec Spec() {
  control::ManifestResult manifest = control::ParseManifest(kJob);
  EXPECT_TRUE(manifest.ok()) << control::FormatErrors("job", manifest.errors);
  control::Default(manifest.job.spec);
  return manifest.job.spec;
}

PlanRequest RequestFor(const v1alpha1::TrainingJobSpec& spec) {
  const Device& device = *FindDevice("H100");
  const auto request = RequestOf(spec, device, WiringOf(device), 64, 8);
  EXPECT_TRUE(request.ok()) << request.status();
  return *request;
}

bool Valid(v1alpha1::TrainingJobSpec spec, const Layout& layout) {
  ApplyLayout(layout, *spec.mutable_trainer());
  return control::Validate(spec).empty();
}

TEST(PlanRules, EveryPlanIsAValidJob) {
  v1alpha1::TrainingJobSpec spec = Spec();
  for (const char* weights : {"FP32", "BF16"}) {
    spec.mutable_trainer()->mutable_communication()->set_gradients("INT8");
    spec.mutable_trainer()->mutable_communication()->set_weights(weights);
    const auto result = PlanLayouts(RequestFor(spec));
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_FALSE(result->plans.empty());
    for (const Plan& plan : result->plans) {
      EXPECT_TRUE(Valid(spec, plan.layout)) << LayoutText(plan.layout);
    }
  }
}

TEST(PlanRules, TheRulesAreThoseOfTheManifest) {
  const v1alpha1::TrainingJobSpec spec = Spec();
  const PlanRequest request = RequestFor(spec);
  std::mt19937 random(7);
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  int valid = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Layout layout;
    layout.tensor = 1 << pick(3);
    layout.context = 1 << pick(3);
    layout.ring = layout.context > 1 && pick(1) == 1;
    layout.pipeline = 1 << pick(5);
    const int64_t apart = int64_t{layout.tensor} * layout.context * layout.pipeline;
    if (apart > 64) continue;
    layout.zero = pick(3);
    layout.shard = layout.zero > 0 ? 1 << pick(3) : 1;
    if (64 / apart % layout.shard != 0) continue;
    layout.data = static_cast<int32_t>(64 / apart / layout.shard);
    if (pick(2) == 0 && layout.pipeline > 1) {
      layout.schedule = PipelineSchedule::kInterleaved;
      layout.chunks = 2 + pick(6);
    }
    layout.micro_batch = 1 + pick(6);
    Plan plan;
    const auto refusal = CheckLayout(request, layout, plan);
    const bool accepted = !refusal || !IsRule(*refusal);
    EXPECT_EQ(accepted, Valid(spec, layout)) << LayoutText(layout);
    (accepted ? valid : refused) += 1;
  }
  EXPECT_GT(valid, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace muster::planner
