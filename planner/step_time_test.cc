#include "planner/step_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/model_presets.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {
namespace {

Work WorkOf(const char* preset, int64_t sequence, int64_t global_batch) {
  v1alpha1::ModelSpec spec;
  spec.set_preset(preset);
  return {.shape = *ResolveModel(spec, 50257), .sequence = sequence, .global_batch = global_batch};
}

const Device& A100() { return *FindDevice("A100-80GB"); }

StepTime Estimate(const Work& work, const Layout& layout, const Engine& engine = SeleneEngine(),
                  const Device& device = A100()) {
  return EstimateStep(work, layout, device, WiringOf(device), engine);
}

bool Close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

TEST(StepTime, ClassesAreFiniteAndNoLessThanNothing) {
  std::mt19937 random(1);
  const auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  const Work work = WorkOf("llama-2-7b", 4096, 512);
  for (int i = 0; i < 5000; ++i) {
    Layout layout{.data = 1 << pick(3), .tensor = 1 << pick(3), .pipeline = 1 << pick(4)};
    layout.shard = 1 << pick(4);
    layout.context = 1 << pick(2);
    layout.ring = pick(1) == 1;
    layout.schedule = static_cast<PipelineSchedule>(pick(3));
    layout.chunks = layout.schedule >= PipelineSchedule::kInterleaved ? 2 : 1;
    layout.zero = pick(3);
    layout.micro_batch = 1 << pick(3);
    layout.recompute = static_cast<Recompute>(pick(2));
    const StepTime t = Estimate(work, layout, pick(1) == 1 ? MusterEngine() : VTrainEngine());
    for (const double part : {t.products, t.attention, t.passes, t.recompute, t.head, t.host,
                              t.tensor, t.context, t.messages, t.data, t.bubble, t.optimizer}) {
      ASSERT_TRUE(part >= 0 && part < 1e6) << i;
    }
    ASSERT_TRUE(t.Total() > 0);
  }
}

TEST(StepTime, IsLinearInMicroBatches) {
  const Layout layout{.micro_batch = 2};
  const StepTime few = Estimate(WorkOf("gpt2-1558m", 1024, 16), layout);
  const StepTime many = Estimate(WorkOf("gpt2-1558m", 1024, 64), layout);
  EXPECT_TRUE(Close(many.products, 4 * few.products));
  EXPECT_TRUE(Close(many.head, 4 * few.head));
  EXPECT_TRUE(Close(many.optimizer, few.optimizer));
}

// Stages of equally many blocks wait for (p - 1) of the m micro-batches, and a part of that.
TEST(StepTime, BubblesAreThoseOfTheFormulas) {
  Work work = WorkOf("llama-65b", 2048, 32);
  Device device = A100();
  device.network_bandwidth = device.link_bandwidth = 1e30;  // messages cost nothing
  device.network_start = 0;
  Layout layout{.pipeline = 8};
  const auto bubble = [&](PipelineSchedule schedule, int32_t chunks) {
    layout.schedule = schedule;
    layout.chunks = chunks;
    return Estimate(work, layout, SeleneEngine(), device).bubble;
  };
  const double plain = bubble(PipelineSchedule::kOneForwardOneBackward, 1);
  const StepTime time = Estimate(work, layout, SeleneEngine(), device);
  const double blocks = time.products + time.attention + time.passes;
  EXPECT_TRUE(Close(plain, blocks * 7 / 32));
  EXPECT_TRUE(Close(bubble(PipelineSchedule::kInterleaved, 2), plain / 2));
  EXPECT_TRUE(Close(bubble(PipelineSchedule::kInterleaved, 10), plain / 10));
  // Products alone have a part W that can be put off. One third is left where all is products.
  const double split = bubble(PipelineSchedule::kZeroBubble, 1);
  EXPECT_TRUE(Close(split, plain * (1 - 2 * time.products / 3 / blocks)));
  EXPECT_TRUE(Close(bubble(PipelineSchedule::kZeroBubbleV, 2), 0.7 * split));
  // Nothing is put off where blocks are computed again, or gradients are divided.
  layout.zero = 2;
  EXPECT_TRUE(bubble(PipelineSchedule::kZeroBubble, 1) >= plain);
}

TEST(StepTime, ComputingAgainCostsOneForwardPass) {
  const Work work = WorkOf("gpt2-1558m", 1024, 8);
  const StepTime none = Estimate(work, {});
  EXPECT_EQ(none.recompute, 0);
  const StepTime full = Estimate(work, {.recompute = Recompute::kFull});
  EXPECT_TRUE(Close(full.recompute, (none.products + none.attention + none.passes) / 3));
  const StepTime half = Estimate(work, {.recompute = Recompute::kFull, .recompute_every = 2});
  EXPECT_TRUE(Close(half.recompute, full.recompute / 2));
  const StepTime some = Estimate(work, {.recompute = Recompute::kSelective});
  EXPECT_TRUE(Close(some.recompute, none.attention / 3));
}

// A reduce-scatter and an all-gather are an all-reduce; ZeRO 3 sends half as much again, and for
// each micro-batch (Rajbhandari et al., 2020, section 7).
TEST(StepTime, ZeroSendsWhatItsPaperSays) {
  const Work work = WorkOf("gpt2-1558m", 1024, 64);
  Device device = A100();
  device.link_start = device.link_hop = 0;
  const auto data = [&](int32_t zero) {
    const Layout layout{.data = zero == 0 ? 8 : 1, .shard = zero == 0 ? 1 : 8, .zero = zero};
    return Estimate(work, layout, SeleneEngine(), device).data;
  };
  const double m = 8;
  EXPECT_TRUE(Close(data(1), data(0)));
  EXPECT_TRUE(Close(data(2), data(0) * (m + 1) / 2));
  EXPECT_TRUE(Close(data(3), data(0) * m * 1.5));
  Engine engine = SeleneEngine();
  engine.overlaps_data = true;
  const Layout all{.shard = 8, .zero = 3};
  EXPECT_LT(Estimate(work, all, engine, device).data, 0.5 * data(3));
}

// The tensor axis is cheap among devices with links, and not beyond.
TEST(StepTime, LinksEndAtTheMachine) {
  const Work work = WorkOf("llama-65b", 2048, 32);
  const double inside = Estimate(work, {.tensor = 8}).tensor;
  const double across = Estimate(work, {.tensor = 16}).tensor;
  EXPECT_GT(inside, 0);
  EXPECT_GT(across, 1.1 * inside);
  Wiring narrow = WiringOf(A100());
  narrow.leaf = 16;
  narrow.oversubscription = 4;
  const Layout layout{.data = 4, .tensor = 8};
  const double wide = Estimate(work, layout).data;
  const double pressed = EstimateStep(work, layout, A100(), narrow, SeleneEngine()).data;
  EXPECT_GT(pressed, 2 * wide);
  EXPECT_LT(pressed, 4 * wide);
}

// A device whose work is shorter than the host's waits for it.
TEST(StepTime, SmallBlocksWaitForTheHost) {
  const Work small = WorkOf("gpt2-124m", 256, 1), large = WorkOf("gpt2-1558m", 1024, 8);
  const StepTime waits = Estimate(small, {.micro_batch = 1}, VTrainEngine());
  EXPECT_GT(waits.host, 0.5 * waits.Total());
  const StepTime works = Estimate(large, {.micro_batch = 8}, VTrainEngine());
  EXPECT_LT(works.host, 0.1 * works.Total());
  EXPECT_EQ(Estimate(small, {}, VTrainEngine(), *FindDevice("CPU")).host, 0);
}

TEST(StepTime, ModelOperationsAreThoseOfThePaper) {
  const Work work = WorkOf("gpt2-124m", 1024, 2);
  const double matrices = 12.0 * (12 * 768 * 768 + 13 * 768) + 2 * 768 + 50304.0 * 768;
  EXPECT_TRUE(Close(ModelOperations(work), 2048.0 * (6 * matrices + 12.0 * 12 * 768 * 1024)));
}

TEST(StepTime, MicroBatchesOfTheBusiestRank) {
  const Work work = WorkOf("gpt2-124m", 1024, 30);
  EXPECT_EQ(MicroBatches(work, {.data = 4, .micro_batch = 2}), 4);
  EXPECT_EQ(MicroBatches(work, {.data = 3, .micro_batch = 2}), 5);
  EXPECT_EQ(MicroBatches(work, {.shard = 15, .micro_batch = 2}), 1);
}

}  // namespace
}  // namespace muster::planner
