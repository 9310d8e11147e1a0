#include "planner/device_memory.h"

#include <gtest/gtest.h>

#include "planner/model_presets.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::planner {
namespace {

Work WorkOf(const char* preset) {
  v1alpha1::ModelSpec spec;
  spec.set_preset(preset);
  return {.shape = *ResolveModel(spec, 50257), .sequence = 1024, .global_batch = 512};
}

DeviceMemory On(const char* device, const Layout& layout, const char* preset = "gpt2-1558m") {
  return EstimateDevice(WorkOf(preset), layout, *FindDevice(device), OptimizerKind::kAdamW);
}

// A rank needs what its trainer checks, and the device's software besides.
TEST(DeviceMemory, CountsWhatTheTrainerCountsAndTheDevicesSoftware) {
  const Layout layout{.shard = 8, .micro_batch = 4, .zero = 2};
  const DeviceMemory memory = On("A100-80GB", layout);
  const Work work = WorkOf("gpt2-1558m");
  MemoryEstimate rank = DivideMemory(EstimateMemory(work.shape, Precision::kBf16, 4, 1024,
                                                    OptimizerKind::kAdamW, LogitsPlace::kGpu),
                                     UnitSizesOf(work.shape), 2, 8);
  EXPECT_EQ(memory.on_host, rank.checkpoint_copy);
  rank.checkpoint_copy = 0;
  EXPECT_EQ(memory.rank.Total(), rank.Total());
  EXPECT_EQ(memory.Total(),
            memory.rank.Total() + memory.driver + memory.collectives + memory.reserve);
  EXPECT_EQ(memory.driver, 500'000'000);
  EXPECT_EQ(memory.collectives, 500'000'000);  // one group, of all ranks
  EXPECT_GT(memory.reserve, memory.rank.activations / 21);
}

TEST(DeviceMemory, EveryAxisHasAGroup) {
  const auto groups = [](const Layout& layout) {
    return On("A100-80GB", layout).collectives / 500'000'000;
  };
  EXPECT_EQ(groups({}), 0);
  EXPECT_EQ(groups({.tensor = 5}), 1);
  EXPECT_EQ(groups({.data = 2, .tensor = 5}), 2);
  EXPECT_EQ(groups({.data = 2, .shard = 2, .tensor = 5, .pipeline = 2, .zero = 1}), 5);
}

TEST(DeviceMemory, ACpuHasNoDriverAndKeepsItsCopy) {
  const DeviceMemory memory = On("CPU", {}, "gpt2-124m");
  EXPECT_EQ(memory.driver + memory.collectives + memory.on_host, 0);
  EXPECT_GT(memory.rank.checkpoint_copy, 0);
}

TEST(DeviceMemory, RecomputingAndDividingTakeLess) {
  const int64_t whole = On("A100-80GB", {.micro_batch = 8}).Total();
  EXPECT_LT(On("A100-80GB", {.micro_batch = 8, .recompute = Recompute::kFull}).Total(), whole);
  EXPECT_LT(On("A100-80GB", {.shard = 8, .micro_batch = 8, .zero = 3}).Total(), whole);
  EXPECT_LT(On("A100-80GB", {.pipeline = 2, .micro_batch = 4}).Total(), whole);
}

}  // namespace
}  // namespace muster::planner
