// Tests the engine on a device whose memory the host cannot read.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/allclose.h"
#include "ATen/ops/equal.h"
#include "base/clock.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/device/testing/fake_device.h"
#include "trainer/engine/step/device_memory.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/families/model_factory.h"

namespace muster::trainer {
namespace {

planner::ModelShape Shape(planner::ModelFamily family, double dropout) {
  planner::ModelShape shape = TinyModel(dropout);
  shape.family = family;
  return shape;
}

class DeviceTest : public testing::TestWithParam<planner::ModelFamily> {};

TEST_P(DeviceTest, AStepOnADeviceIsTheCpusToRounding) {
  TrainingOptions options = TinyOptions();
  options.types = {at::kDouble, at::kDouble};
  const planner::ModelShape shape = Shape(GetParam(), 0.1);
  SoloEngine here(options, shape);
  options.device = FakeDevice();
  SoloEngine there(options, shape);
  const std::vector<double> a = here.Losses(5), b = there.Losses(5);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-11) << i;
  const auto tensors_a = here.state->FlatTensors(), tensors_b = there.state->FlatTensors();
  for (size_t i = 0; i < tensors_a.size(); ++i) {
    EXPECT_EQ(tensors_b[i].tensor.device(), FakeDevice());
    EXPECT_TRUE(at::allclose(tensors_a[i].tensor, tensors_b[i].tensor.cpu(), 1e-7, 1e-9))
        << tensors_a[i].name;
  }
  const auto validation_a = here.engine.Validate(2), validation_b = there.engine.Validate(2);
  ASSERT_TRUE(validation_b.ok()) << validation_b.status();
  EXPECT_NEAR(*validation_a, *validation_b, 1e-11);
}

TEST_P(DeviceTest, Fp8AndFp16OnADeviceAreTheCpusToRounding) {
  for (const PrecisionTypes& types : {PrecisionTypes{at::kFloat, at::kBFloat16, /*fp8=*/true},
                                      PrecisionTypes{at::kFloat, at::kHalf}}) {
    TrainingOptions options = TinyOptions();
    options.types = types;
    const planner::ModelShape shape = Shape(GetParam(), 0.1);
    SoloEngine here(options, shape);
    options.device = FakeDevice();
    SoloEngine there(options, shape);
    const std::vector<double> a = here.Losses(5), b = there.Losses(5);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-3) << i;
    EXPECT_LT(b.back(), b.front());
    EXPECT_EQ(here.state->counts(), there.state->counts());
  }
}

// Both directions: what a device saved a CPU loads, and the other way round.
TEST_P(DeviceTest, ACheckpointGoesFromADeviceToTheCpuAndBack) {
  MemoryFiles files;
  RecordingOutbox outbox;
  const planner::ModelShape shape = Shape(GetParam(), 0.0);
  for (const bool from_device : {true, false}) {
    const std::string uri = from_device ? "/from-device" : "/from-cpu";
    CheckpointStore store(files, Clock::Real(), uri, 3, RunIdentity{.job_uid = "uid"}, outbox);
    TrainingOptions options = TinyOptions();
    options.device = from_device ? FakeDevice() : c10::Device(at::kCPU);
    SoloEngine saved(options, shape);
    saved.Losses(2);
    ASSERT_TRUE(store.Save(*saved.state, {.rank = 0, .world_size = 1}).ok());
    ASSERT_TRUE(store.WaitIdle(absl::InfiniteDuration()));
    options.device = from_device ? c10::Device(at::kCPU) : FakeDevice();
    SoloEngine loaded(options, shape);
    const auto listed = store.List(*loaded.state);
    ASSERT_EQ(listed.complete.size(), 1u) << listed.error;
    const auto version = store.Load(listed.complete[0], *loaded.state);
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_EQ(version->step(), 2);
    const auto a = saved.state->FlatTensors(), b = loaded.state->FlatTensors();
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_TRUE(at::equal(a[i].tensor.cpu(), b[i].tensor.cpu())) << a[i].name;
    }
  }
}

TEST_P(DeviceTest, StepsThatAreRepeatedInDeterministicModeHaveTheSameBits) {
  TrainingOptions options = TinyOptions();
  options.device = FakeDevice();
  options.deterministic = true;
  SoloEngine one(options, Shape(GetParam(), 0.1)), other(options, Shape(GetParam(), 0.1));
  EXPECT_EQ(one.Losses(3), other.Losses(3));
  EXPECT_EQ(one.state->Digest(), other.state->Digest());
}

// The host waits for the losses and for the norm, both at the vote, however long the step is.
TEST_P(DeviceTest, AStepReadsItsDeviceTwiceHoweverManyMicroBatchesAndBlocksItHas) {
  for (const int micro_batches : {1, 4}) {
    for (const int layers : {1, 3}) {
      TrainingOptions options = TinyOptions();
      options.device = FakeDevice();
      options.micro_batches = micro_batches;
      planner::ModelShape shape = Shape(GetParam(), 0.1);
      shape.layers = layers;
      SoloEngine solo(options, shape);
      solo.Step();
      const int64_t reads = FakeDeviceReads(), waits = FakeDeviceWaits();
      solo.Step();
      EXPECT_EQ(FakeDeviceReads() - reads, 2) << micro_batches << " " << layers;
      EXPECT_EQ(FakeDeviceWaits() - waits, 0) << micro_batches << " " << layers;
    }
  }
}

TEST(DeviceMemoryTest, WhatATensorHasIsCountedByItsUseOnDevicesAlone) {
  TrainingOptions options = TinyOptions();
  options.device = FakeDevice();
  const int64_t before = FakeDeviceMemoryInUse();
  SoloEngine solo(options, TinyModel(0.0));
  solo.Losses(1);
  const int64_t after = FakeDeviceMemoryInUse();
  const DeviceMemory memory = ReadDeviceMemory(*solo.state);
  EXPECT_EQ(memory.weights, 176 * 1024);
  EXPECT_EQ(memory.gradients, 176 * 1024);
  EXPECT_EQ(memory.optimizer, 352 * 1024);
  ASSERT_TRUE(memory.allocator.has_value());
  EXPECT_EQ(memory.allocator->others + 704 * 1024, after);
  EXPECT_EQ(memory.allocator->unused, 0);
  EXPECT_GT(memory.allocator->most, after) << "a step has activations, which are gone after it";
  EXPECT_GE(after - before, 704 * 1024);
  SoloEngine on_cpu(TinyOptions(), TinyModel(0.0));
  EXPECT_FALSE(ReadDeviceMemory(*on_cpu.state).allocator.has_value());
}

TEST(DeviceMemoryTest, AStepTellsTheMemoryOfItsDeviceWithoutReadingIt) {
  TrainingOptions options = TinyOptions();
  SoloEngine on_cpu(options, TinyModel(0.0));
  EXPECT_FALSE(on_cpu.Step().device_memory.has_value());
  options.device = FakeDevice();
  SoloEngine solo(options, TinyModel(0.0));
  SetFakeDeviceMemory(FakeDeviceMemoryInUse());
  EXPECT_FALSE(solo.engine.Step({}).ok());
  SetFakeDeviceMemory(1 << 30);
  const int64_t retries = ReadAllocator(FakeDevice())->retries;
  EXPECT_GE(retries, 1);
  SoloEngine other(options, TinyModel(0.0));
  const StepOutcome outcome = other.Step();
  SetFakeDeviceMemory(std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(outcome.device_memory.has_value());
  EXPECT_EQ(outcome.device_memory->total(), 1 << 30);
  EXPECT_GE(outcome.device_memory->reserved(), 2 * 704 * 1024);
  EXPECT_GE(outcome.device_memory->allocated_peak(), outcome.device_memory->reserved());
  EXPECT_EQ(outcome.device_memory->retries(), retries);
}

TEST(DeviceMemoryTest, AStepWithoutMemorySaysWhatIsHeldAndWhatNeedsLess) {
  TrainingOptions options = TinyOptions();
  options.device = FakeDevice();
  SoloEngine solo(options, TinyModel(0.0));
  SetFakeDeviceMemory(FakeDeviceMemoryInUse() + 20000);
  const absl::Status status = solo.engine.Step({}).status();
  SetFakeDeviceMemory(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  for (const char* text :
       {"forward of block layer 0: the fake device has no memory for 12288 bytes",
        "; this rank holds 176.0 KiB of weights, 176.0 KiB of gradients and "
        "352.0 KiB of optimizer state, and ",
        " of activations and other tensors; 0 bytes more are in pieces that no tensor has, and the "
        "most "
        "that tensors had at one time was ",
        "needs less: train.microBatch 1 in place of 2, a shorter train.sequence"}) {
    EXPECT_NE(status.message().find(text), std::string_view::npos) << status << "\n" << text;
  }
}

// Four ranks in two copies of two shards, at every stage of the state's division.
TEST(DeviceRanksTest, RanksThatDivideTheStateTrainOnDevicesAsOnCpus) {
  const MeshShape mesh{.data = 2, .shard = 2};
  for (const int zero : {1, 2, 3}) {
    TrainingOptions options = TinyOptions();
    options.types = {at::kDouble, at::kDouble};
    options.divided = {.values = zero >= 3, .gradients = zero >= 2};
    const RankResult here = TrainTinyRanks(options, mesh, 3)[0];
    options.device = FakeDevice();
    const std::vector<RankResult> there = TrainTinyRanks(options, mesh, 3);
    for (const RankResult& rank : there) {
      ASSERT_EQ(rank.losses.size(), 3u) << zero;
      for (size_t i = 0; i < rank.losses.size(); ++i) {
        EXPECT_NEAR(rank.losses[i], here.losses[i], 1e-11) << zero;
        EXPECT_NEAR(rank.norms[i], here.norms[i], 1e-10) << zero;
      }
      EXPECT_EQ(rank.values, there[0].values) << zero;
    }
  }
}

TEST(DeviceFaultTest, ADeviceThatBreaksEndsTheStepInWordsAndLeavesTheVersion) {
  TrainingOptions options = TinyOptions();
  options.device = FakeDevice();
  SoloEngine solo(options, TinyModel(0.0));
  solo.Losses(2);
  BreakFakeDevice(true);
  const absl::Status status = solo.engine.Step({}).status();
  BreakFakeDevice(false);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown) << status;
  EXPECT_NE(status.message().find("loading step 3: the fake device is broken"),
            std::string_view::npos)
      << status;
  EXPECT_EQ(solo.state->applied()->step(), 2);
}

INSTANTIATE_TEST_SUITE_P(Families, DeviceTest,
                         testing::Values(planner::ModelFamily::kGpt2, planner::ModelFamily::kLlama,
                                         planner::ModelFamily::kBloom));

}  // namespace
}  // namespace muster::trainer
