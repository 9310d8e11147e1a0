#include "planner/memory.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "planner/logits_rows.h"
#include "planner/model_presets.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {
namespace {

v1alpha1::ModelSpec Preset(const char* name) {
  v1alpha1::ModelSpec spec;
  spec.set_preset(name);
  return spec;
}

TEST(EstimateMemory, CountsEachPart) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const int64_t p = ParameterCount(shape);
  const MemoryEstimate fp32 =
      EstimateMemory(shape, Precision::kFp32, 4, 1024, OptimizerKind::kAdamW);
  EXPECT_EQ(fp32.parameters, 4 * p);
  EXPECT_EQ(fp32.gradients, 4 * p);
  EXPECT_EQ(fp32.optimizer, 8 * p);
  EXPECT_EQ(fp32.checkpoint_copy, 12 * p);
  // A chunk, and the gradients of the head's weight and input.
  EXPECT_EQ(fp32.logits, (int64_t{164} * 50304 + (50304 + 4096) * 768) * 4);
  EXPECT_EQ(EstimateMemory(shape, Precision::kFp32, 4, 1024, OptimizerKind::kSgd).optimizer, 0);
  EXPECT_EQ(EstimateMemory(shape, Precision::kFp32, 4, 1024, OptimizerKind::kLion).optimizer,
            4 * p);
  EXPECT_EQ(EstimateMemory(shape, Precision::kFp64, 4, 1024, OptimizerKind::kSgdMomentum).optimizer,
            8 * p);
  EXPECT_LT(EstimateMemory(shape, Precision::kBf16, 4, 1024, OptimizerKind::kAdamW).activations,
            fp32.activations);
  EXPECT_EQ(MemoryBytes(shape, Precision::kFp32, 4, 1024, OptimizerKind::kAdamW), fp32.Total());
}

TEST(EstimateMemory, TheStateFollowsFromTheNumberOfParametersAlone) {
  const MemoryEstimate state = EstimateState(1000, Precision::kFp64, OptimizerKind::kAdamW);
  EXPECT_EQ(state.parameters, 8000);
  EXPECT_EQ(state.gradients, 8000);
  EXPECT_EQ(state.optimizer, 16'000);
  EXPECT_EQ(state.checkpoint_copy, 24'000);
  EXPECT_EQ(state.activations + state.logits, 0);
}

TEST(EstimateMemory, CountsLambAsAdamWAndMuonWithTheUpdateThatItPrepares) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto of = [&](OptimizerKind kind) {
    return EstimateMemory(shape, Precision::kFp32, 4, 1024, kind);
  };
  EXPECT_EQ(of(OptimizerKind::kLamb).Total(), of(OptimizerKind::kAdamW).Total());
  const MemoryEstimate muon = of(OptimizerKind::kMuon);
  const UnitSizes units = UnitSizesOf(shape);
  const int64_t slices = 4 * units.blocks * units.block, turned = 4 * 8 * int64_t{4} * 768 * 768;
  EXPECT_EQ(muon.update, slices + turned);
  EXPECT_EQ(muon.Total(), of(OptimizerKind::kAdamW).Total() + muon.update);
  const MemoryEstimate half = DivideMemory(muon, units, 1, 2);
  EXPECT_EQ(half.update, slices / 2 + turned);
  EXPECT_EQ(half.optimizer, muon.optimizer / 2);
  EXPECT_EQ(half.checkpoint_copy, muon.checkpoint_copy - muon.optimizer / 2);
  EXPECT_EQ(EstimateState(1000, Precision::kFp64, OptimizerKind::kMuon, 100).update,
            8 * (1000 + 8 * 100));
}

TEST(EstimateMemory, LogitsOfFewTokensAreOneChunk) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto logits = [&](Precision precision) {
    return EstimateMemory(shape, precision, 2, 64, OptimizerKind::kAdamW).logits;
  };
  EXPECT_EQ(logits(Precision::kFp32), int64_t{128} * 50304 * 4);
  EXPECT_EQ(logits(Precision::kFp64), int64_t{128} * 50304 * 8);
  // In BF16 as products, in FP32 in between, and in BF16 as their gradient.
  EXPECT_EQ(logits(Precision::kBf16), int64_t{128} * 50304 * 8);
}

TEST(EstimateMemory, AGpuHasLogitsOnceInTheTypeOfProducts) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto logits = [&](Precision precision, int32_t micro_batch) {
    return EstimateMemory(shape, precision, micro_batch, 1024, OptimizerKind::kAdamW,
                          LogitsPlace::kGpu)
        .logits;
  };
  EXPECT_EQ(logits(Precision::kFp32, 4), int64_t{4096} * 50304 * 4);
  EXPECT_EQ(logits(Precision::kBf16, 4), int64_t{4096} * 50304 * 2);
  EXPECT_EQ(logits(Precision::kFp16, 4), int64_t{4096} * 50304 * 8) << "in FP32 in between";
  EXPECT_EQ(logits(Precision::kBf16, 32),
            int64_t{4864} * 50304 * 2 + (int64_t{50304} + 32768) * 768 * 4);
}

TEST(LogitsRows, ChunksAreBoundedAndAlike) {
  EXPECT_EQ(LogitsRows(512, 512), 512);
  EXPECT_EQ(LogitsRows(128, 50304), 128);
  EXPECT_EQ(LogitsRows(4096, 50304), 164);   // 25 chunks
  EXPECT_EQ(LogitsRows(4096, 1 << 20), 32);  // never fewer, if there are as many
  EXPECT_EQ(LogitsRows(7, int64_t{1} << 30), 7);
  EXPECT_EQ(LogitsRows(0, 512), 0);
}

TEST(LogitsRows, ChunksOfAGpuAreMultiplesOfWhatItComputesAtOnce) {
  const auto rows = [](int64_t tokens, int64_t vocabulary) {
    return LogitsRows(tokens, vocabulary, LogitsPlace::kGpu);
  };
  EXPECT_EQ(rows(4096, 50304), 4096);
  EXPECT_EQ(rows(5120, 50304), 5120);   // the most
  EXPECT_EQ(rows(32768, 50304), 4864);  // 7 chunks; the last has fewer rows
  EXPECT_EQ(rows(8192, 128256), 2048);
  EXPECT_EQ(rows(4096, int64_t{1} << 22), 256);  // never fewer, if there are as many
  EXPECT_EQ(rows(7, int64_t{1} << 30), 7);
  EXPECT_EQ(rows(0, 512), 0);
}

TEST(EstimateMemory, BiasesOfPositionsAreKeptOnce) {
  const ModelShape gpt2 = *ResolveModel(Preset("gpt2-nano"), 256);
  const ModelShape bloom = *ResolveModel(Preset("bloom-nano"), 256);
  const auto activations = [](const ModelShape& shape) {
    return EstimateMemory(shape, Precision::kFp32, 2, 256, OptimizerKind::kAdamW).activations;
  };
  EXPECT_EQ(activations(bloom) - activations(gpt2), int64_t{4} * 4 * 256 * 256);
}

TEST(EstimateMemory, DropoutKeepsAttentionProbabilities) {
  ModelShape shape = *ResolveModel(Preset("gpt2-nano"), 256);
  const int64_t without =
      EstimateMemory(shape, Precision::kFp32, 2, 256, OptimizerKind::kAdamW).activations;
  shape.dropout = 0.1;
  const int64_t with =
      EstimateMemory(shape, Precision::kFp32, 2, 256, OptimizerKind::kAdamW).activations;
  const int64_t scores = int64_t{2} * 4 * 256 * 256, stream = int64_t{4} * 2 * 256 * 64;
  EXPECT_EQ(with - without, 3 * (12 * scores + 256 * 256 + 2 * stream) + stream + 3 * 4 * scores);
  EXPECT_EQ(DropoutBytesPerScore(Precision::kBf16), 10);
  EXPECT_EQ(DropoutBytesPerScore(Precision::kFp64), 24);
}

TEST(ParseNames, AcceptTheNamesOfTheApi) {
  EXPECT_EQ(*ParsePrecision("bf16"), Precision::kBf16);
  EXPECT_EQ(*ParsePrecision("fp16"), Precision::kFp16);
  EXPECT_EQ(*ParsePrecision("fp8"), Precision::kFp8);
  EXPECT_EQ(ParsePrecision("fp4").status().message(),
            "no precision \"fp4\"; there are fp32, bf16, fp16, fp8, fp64");
  EXPECT_EQ(*ParseOptimizer("lion", 0), OptimizerKind::kLion);
  EXPECT_EQ(*ParseOptimizer("sgd", 0), OptimizerKind::kSgd);
  EXPECT_EQ(*ParseOptimizer("sgd", 0.9), OptimizerKind::kSgdMomentum);
  EXPECT_EQ(*ParseOptimizer("adamw", 0), OptimizerKind::kAdamW);
  EXPECT_EQ(*ParseOptimizer("lamb", 0), OptimizerKind::kLamb);
  EXPECT_EQ(*ParseOptimizer("muon", 0), OptimizerKind::kMuon);
  EXPECT_FALSE(ParseOptimizer("adagrad", 0).ok());
}

TEST(DivideMemoryTest, EachStageDividesMoreOfTheState) {
  const ModelShape shape = CompleteShape(
      {.layers = 24, .heads = 16, .width = 1024, .positions = 1024, .vocabulary = 50'304});
  const int64_t p = ParameterCount(shape);
  const MemoryEstimate whole =
      EstimateMemory(shape, Precision::kFp32, 1, 1024, OptimizerKind::kAdamW);
  EXPECT_EQ(DivideMemory(whole, UnitSizesOf(shape), 0, 8).Total(), whole.Total());
  EXPECT_EQ(DivideMemory(whole, UnitSizesOf(shape), 3, 1).Total(), whole.Total());
  const MemoryEstimate one = DivideMemory(whole, UnitSizesOf(shape), 1, 8);
  EXPECT_EQ(one.optimizer, p);
  EXPECT_EQ(one.checkpoint_copy, 4 * p + p);
  EXPECT_GT(one.gradients, 4 * p);
  EXPECT_LT(one.gradients, 5 * p);
  EXPECT_EQ(one.casts, 0);
  const MemoryEstimate two = DivideMemory(whole, UnitSizesOf(shape), 2, 8);
  EXPECT_EQ(two.parameters, 4 * p);
  EXPECT_GT(two.gradients, p / 2);
  EXPECT_LT(two.gradients, 3 * p);
  const MemoryEstimate three = DivideMemory(whole, UnitSizesOf(shape), 3, 8);
  EXPECT_LT(three.parameters, 3 * p);
  EXPECT_LT(three.Total(), two.Total());
  EXPECT_LT(two.Total(), one.Total());
  EXPECT_LT(one.Total(), whole.Total());
  EXPECT_EQ(three.checkpoint_copy, (12 * p + 7) / 8);
  EXPECT_EQ(three.activations, whole.activations);
  // More ranks leave less on each.
  EXPECT_LT(DivideMemory(whole, UnitSizesOf(shape), 3, 64).Total(), three.Total());
}

TEST(DivideMemoryTest, AModelOfUnknownShapeIsDividedByItsLargestUnit) {
  const UnitSizes units{.parameters = 100'000, .block = 10'000, .blocks = 12};
  const MemoryEstimate whole = EstimateState(100'000, Precision::kFp32, OptimizerKind::kAdamW);
  EXPECT_EQ(DivideMemory(whole, units, 0, 4).Total(), whole.Total());
  const MemoryEstimate one = DivideMemory(whole, units, 1, 4);
  EXPECT_EQ(one.parameters, 400'000);
  EXPECT_EQ(one.gradients, 480'000);
  EXPECT_EQ(one.optimizer, 200'000);
  EXPECT_EQ(one.checkpoint_copy, 600'000);
  EXPECT_EQ(DivideMemory(whole, units, 2, 4).gradients, 300'000);
  const MemoryEstimate three = DivideMemory(whole, units, 3, 4);
  EXPECT_EQ(three.parameters, 260'000);
  EXPECT_EQ(three.checkpoint_copy, 300'000);
}

TEST(DivideMemoryTest, OffloadedStateCountsForTheUnitsInUseOnly) {
  const ModelShape shape = CompleteShape(
      {.layers = 24, .heads = 16, .width = 1024, .positions = 1024, .vocabulary = 50'304});
  const MemoryEstimate whole =
      EstimateMemory(shape, Precision::kFp32, 1, 1024, OptimizerKind::kAdamW);
  const MemoryEstimate optimizer =
      DivideMemory(whole, UnitSizesOf(shape), 0, 1, {.optimizer = true});
  EXPECT_GT(optimizer.optimizer, 0);
  EXPECT_LT(optimizer.optimizer, whole.optimizer / 5);
  EXPECT_EQ(optimizer.Total(), whole.Total() - whole.optimizer + optimizer.optimizer)
      << "a checkpoint is copied in memory all the same";
  const MemoryEstimate alone = DivideMemory(whole, UnitSizesOf(shape), 3, 1, {.weights = true});
  EXPECT_LT(alone.parameters, whole.parameters);
  EXPECT_EQ(alone.optimizer, whole.optimizer);
  const MemoryEstimate both =
      DivideMemory(whole, UnitSizesOf(shape), 3, 64, {.optimizer = true, .weights = true});
  EXPECT_EQ(both.optimizer, DivideMemory(whole, UnitSizesOf(shape), 3, 64).optimizer)
      << "a share may be less than a unit";
  EXPECT_LE(both.Total(), DivideMemory(whole, UnitSizesOf(shape), 3, 64).Total());
}

TEST(EstimateMemory, Fp16TakesWhatBf16TakesOnACpu) {
  for (const char* const preset : {"gpt2-124m", "llama-nano", "bloom-nano"}) {
    const ModelShape shape = *ResolveModel(Preset(preset), 256);
    const auto total = [&](Precision precision) {
      return EstimateMemory(shape, precision, 4, 256, OptimizerKind::kAdamW).Total();
    };
    EXPECT_EQ(total(Precision::kFp16), total(Precision::kBf16)) << preset;
  }
}

TEST(EstimateMemory, Fp8TakesWhatBf16Takes) {
  // Weights lie in FP8 by rows and by columns, which is two bytes; outputs are BF16.
  const ModelShape shape = *ResolveModel(Preset("llama-nano"), 256);
  const auto estimate = [&](Precision precision) {
    return EstimateMemory(shape, precision, 4, 256, OptimizerKind::kAdamW);
  };
  EXPECT_EQ(estimate(Precision::kFp8).Total(), estimate(Precision::kBf16).Total());
  EXPECT_EQ(estimate(Precision::kFp8).parameters, estimate(Precision::kFp32).parameters);
}

TEST(DivideMemoryTest, CastsAreOfAllWeightsOrOfTheBlocksInUse) {
  const ModelShape shape = CompleteShape(
      {.layers = 24, .heads = 16, .width = 1024, .positions = 1024, .vocabulary = 50'304});
  const int64_t p = ParameterCount(shape);
  const MemoryEstimate whole =
      EstimateMemory(shape, Precision::kBf16, 1, 1024, OptimizerKind::kAdamW);
  EXPECT_EQ(whole.casts, 2 * p);
  EXPECT_EQ(DivideMemory(whole, UnitSizesOf(shape), 2, 8).casts, 2 * p);
  const MemoryEstimate three = DivideMemory(whole, UnitSizesOf(shape), 3, 8);
  EXPECT_GT(three.casts, 0);
  EXPECT_LT(three.casts, p / 2);
  ModelShape untied = shape;
  untied.tied_head = false;
  EXPECT_EQ(EstimateMemory(untied, Precision::kBf16, 1, 1024, OptimizerKind::kAdamW).casts, 2 * p)
      << "an embedding of its own is no product's";
}

// Two ranks: half of the matrices, the vocabulary and the saved activations, all of the rest.
TEST(EstimateMemory, RanksThatDivideTheModelHaveHalfOfItsMatricesAndOfTheSequence) {
  for (const char* preset : {"gpt2-124m", "llama-nano", "bloom-nano"}) {
    const ModelShape shape = CompleteShape(*ResolveModel(Preset(preset), 257));
    const auto with = [&](int tensor) {
      return EstimateMemory(shape, Precision::kFp32, 2, 64, OptimizerKind::kAdamW,
                            LogitsPlace::kCpu, {.tensor = tensor});
    };
    const MemoryEstimate one = with(1), two = with(2);
    EXPECT_EQ(one.Total(),
              EstimateMemory(shape, Precision::kFp32, 2, 64, OptimizerKind::kAdamW).Total());
    EXPECT_EQ(one.parameters, 4 * ParameterCount(shape));
    EXPECT_EQ(two.parameters, 4 * ParameterCountOfPart(shape, 2));
    EXPECT_GT(2 * two.parameters, one.parameters) << "norms and positions are whole";
    EXPECT_LT(2 * two.parameters, one.parameters * 21 / 20) << preset;
    EXPECT_EQ(two.optimizer, 2 * two.parameters);
    // The inputs of matrix products are whole sequences.
    const int64_t gathered = int64_t{4} * 128 * (2 * shape.layers + 1) * shape.width;
    EXPECT_LT(two.activations, one.activations / 2 + gathered + one.activations / 8) << preset;
    EXPECT_GT(two.activations, gathered) << preset;
    EXPECT_LT(two.logits, one.logits);
  }
}

// The first of four stages keeps the activations of four micro-batches, of a quarter of the blocks.
TEST(EstimateMemory, AStageHasItsShareOfTheBlocksAndKeepsAsManyMicroBatchesAsThereAreStages) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto with = [&](int stages) {
    return EstimateMemory(shape, Precision::kFp32, 2, 64, OptimizerKind::kAdamW, LogitsPlace::kCpu,
                          {.stages = stages});
  };
  const UnitSizes units = UnitSizesOf(shape, {.stages = 4});
  EXPECT_EQ(units.blocks, 3);
  EXPECT_EQ(with(4).parameters, 4 * (3 * units.block + units.embedding));
  EXPECT_EQ(with(4).activations, with(1).activations);
  EXPECT_LT(with(4).Total(), with(1).Total());
}

// The first of two stages runs five passes through a chunk of three blocks ahead (Narayanan et al.,
// 2021, section 2.2.2).
TEST(EstimateMemory, ChunksKeepMoreActivations) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto with = [&](int chunks) {
    return EstimateMemory(shape, Precision::kFp32, 2, 64, OptimizerKind::kAdamW, LogitsPlace::kCpu,
                          {.stages = 2, .chunks = chunks});
  };
  const int64_t stream = int64_t{4} * 128 * shape.width;
  EXPECT_EQ((with(2).activations - stream) * 12, (with(1).activations - stream) * 15);
  EXPECT_EQ(with(2).parameters, with(1).parameters);
}

// The first stage keeps what it keeps with 1F1B, and has the head.
TEST(EstimateMemory, AFoldedStageHasBothEnds) {
  ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto with = [&](bool folded) {
    return EstimateMemory(shape, Precision::kFp32, 2, 64, OptimizerKind::kAdamW, LogitsPlace::kCpu,
                          {.stages = 2, .chunks = folded ? 2 : 1, .folded = folded});
  };
  EXPECT_EQ(with(true).Total(), with(false).Total());
  shape.tied_head = false;
  EXPECT_EQ(with(true).activations, with(false).activations);
  EXPECT_EQ(with(true).parameters - with(false).parameters, 4 * UnitSizesOf(shape).embedding);
}

TEST(EstimateMemory, RecomputedLayersKeepTheirInputsAndWhatOneOfThemSaves) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);  // 12 layers
  const auto with = [&](Precision precision, WorkDivision division) {
    return EstimateMemory(shape, precision, 2, 64, OptimizerKind::kAdamW, LogitsPlace::kCpu,
                          division)
        .activations;
  };
  const int64_t stream = int64_t{2} * 64 * 768;
  EXPECT_EQ(with(Precision::kFp32, {}), stream * (12 * 17 + 1) * 4);
  const WorkDivision full{.activations = {.recompute_every = 1}};
  // One layer's tensors and a third more for gradients.
  const int64_t once = 4 * 17 * 768 / 3;
  EXPECT_EQ(with(Precision::kFp32, full), (stream * (12 + 1) + 128 * once) * 4);
  EXPECT_EQ(with(Precision::kBf16, full), stream * (12 * 4 + 2) + 128 * once * 2)
      << "inputs have the type of weights";
  // The layers are blocks 1 to 12, and those with an odd number are computed again.
  const WorkDivision half{.activations = {.recompute_every = 2}};
  // The last layer's are freed when the first one is computed again.
  EXPECT_EQ(with(Precision::kFp32, half), (stream * (6 + 6 * 17 + 1) + 128 * (17 * 768 / 3)) * 4);
  // The first of four stages has three layers, and keeps four micro-batches of each. It also has
  // outputs and messages.
  const WorkDivision staged{.stages = 4, .activations = {.recompute_every = 1}};
  EXPECT_EQ(with(Precision::kFp32, staged), with(Precision::kFp32, full) + stream * 6 * 4);
  const WorkDivision parts{.tensor = 2, .activations = {.recompute_every = 1}};
  // Gathered inputs are kept in place of what norms return.
  EXPECT_EQ(with(Precision::kFp32, parts),
            (stream * (12 + 2) + 128 * 2 * (4 * (15 * 768 / 2 + 2 * 768) / 3)) * 2);
}

TEST(EstimateMemory, PackedLayersKeepTheirInputsWhole) {
  ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  const auto with = [&](Precision precision, ActivationOptions activations) {
    return EstimateMemory(shape, precision, 2, 64, OptimizerKind::kAdamW, LogitsPlace::kCpu,
                          {.activations = activations})
        .activations;
  };
  const int64_t stream = int64_t{2} * 64 * 768;
  const ActivationOptions bf16{.format = SavedFormat::kBf16}, int8{.format = SavedFormat::kInt8};
  const int64_t unpacked = 128 * (2 * 17 * 768 / 3);  // with gradients
  EXPECT_EQ(with(Precision::kFp32, bf16), stream * (12 * (4 + 16 * 2) + 4) + unpacked * 4);
  EXPECT_EQ(with(Precision::kFp32, int8),
            stream * (12 * 4 + 4) + stream * 12 * 16 * 260 / 256 + unpacked * 4);
  EXPECT_EQ(with(Precision::kBf16, bf16), with(Precision::kBf16, {}) + unpacked * 2);
  const int64_t both = with(Precision::kFp32, {.recompute_every = 2, .format = SavedFormat::kBf16});
  EXPECT_EQ(both, stream * (6 * 4 + 6 * (4 + 16 * 2) + 4) + 128 * (4 * 17 * 768 / 3) * 4);
  shape.dropout = 0.1;
  const int64_t kept = with(Precision::kFp32, {}), packed = with(Precision::kFp32, bf16);
  shape.dropout = 0.0;
  const int64_t scores = int64_t{2} * 12 * 64 * 64;
  EXPECT_EQ(kept - with(Precision::kFp32, {}) - (packed - with(Precision::kFp32, bf16)),
            12 * scores * 4 - 2 * (12 * scores + 64 * 64 + 8 * stream) / 3)
      << "of a score the mask stays whole";
}

// The weights are whole on every rank; what depends on tokens is divided.
TEST(EstimateMemory, RanksThatDivideSequencesHaveTheirPartOfTheActivations) {
  for (const char* preset : {"gpt2-124m", "llama-nano", "bloom-nano"}) {
    ModelShape shape = CompleteShape(*ResolveModel(Preset(preset), 257));
    for (const double dropout : {0.0, 0.1}) {
      shape.dropout = dropout;
      const auto with = [&](int context, bool ring) {
        return EstimateMemory(shape, Precision::kFp32, 2, 1024, OptimizerKind::kAdamW,
                              LogitsPlace::kCpu, {.context = context, .ring = ring});
      };
      const MemoryEstimate one = with(1, false), heads = with(4, false), ring = with(4, true);
      EXPECT_EQ(heads.parameters, one.parameters);
      EXPECT_EQ(ring.optimizer, one.optimizer);
      EXPECT_LT(heads.activations, one.activations * 3 / 10) << preset;
      EXPECT_GT(heads.activations, one.activations / 4) << "attention's output is kept twice";
      EXPECT_LT(ring.activations, one.activations * 3 / 10) << preset;
      EXPECT_LE(heads.logits, one.logits);
    }
  }
}

// As LayOutModel() counts them, without its padding.
TEST(ParameterCountOfPart, TheFirstRankHasThePartsOfAnOddVocabularyThatAreLarger) {
  const ModelShape shape = *ResolveModel(Preset("gpt2-124m"), 50257);
  ModelShape odd = shape;
  odd.vocabulary = 50257;
  const int64_t whole = 1024 * 768 + 12 * 6 * 768 + 2 * 768;
  const int64_t block = 12 * 768 * 768 + 7 * 768;
  EXPECT_EQ(ParameterCountOfPart(odd, 2), whole + 12 * block / 2 + 25129 * 768);
  EXPECT_EQ(ParameterCountOfPart(odd, 1), ParameterCount(odd));
}

}  // namespace
}  // namespace muster::planner
