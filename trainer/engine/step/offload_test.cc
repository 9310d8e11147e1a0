// Tests that state which rests in files trains as state in memory does, takes less memory, and
// outlives a disk that fails.

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "c10/core/Allocator.h"
#include "c10/util/ThreadLocalDebugInfo.h"
#include "gtest/gtest.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/store/rejoin.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/sgd.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

const OffloadOptions kOptimizer = {.optimizer = true, .directory = "disk"};
const OffloadOptions kWeights = {.weights = true, .directory = "disk"};
const OffloadOptions kBoth = {.optimizer = true, .weights = true, .directory = "disk"};

std::vector<RankResult> Train(const TrainingOptions& options, const MeshShape& mesh, int steps) {
  std::vector<MemoryStateFiles> disks(static_cast<size_t>(mesh.size()));
  const std::vector<RankResult> results = TrainTinyRanks(
      options, mesh, steps, [&](int rank) { return &disks[static_cast<size_t>(rank)]; });
  for (const MemoryStateFiles& disk : disks) {
    EXPECT_EQ(disk.operations() > 0, options.offload.optimizer || options.offload.weights);
  }
  return results;
}

// Returns the ways to offload under a division of the state.
std::vector<OffloadOptions> OffloadsOf(const Division& divided) {
  return divided.values ? std::vector<OffloadOptions>{kOptimizer, kWeights, kBoth}
                        : std::vector<OffloadOptions>{kOptimizer};
}

TEST(OffloadTest, EveryStageInEveryLayoutGivesTheBitsThatItGivesInMemory) {
  for (const OptimizerFactory make : {&MakeAdamW, &MakeLamb, &MakeLion, &MakeMuon, &MakeSgd}) {
    for (const MeshShape& mesh :
         {MeshShape{}, {.data = 2}, {.shard = 2}, {.data = 2, .shard = 2}}) {
      for (const Division& divided : {Division{}, {.gradients = true}, {true, true}}) {
        TrainingOptions options = TinyOptions();
        options.deterministic = true;
        options.optimizer.make = make;
        options.optimizer.momentum = make == &MakeSgd ? 0.9 : 0.0;
        options.divided = divided;
        const std::vector<RankResult> want = Train(options, mesh, 5);
        EXPECT_LT(want[0].losses.back(), want[0].losses.front());
        for (const OffloadOptions& offload : OffloadsOf(divided)) {
          SCOPED_TRACE(absl::StrCat(mesh.data, " x ", mesh.shard, ", values ", divided.values,
                                    ", gradients ", divided.gradients, ": offloads optimizer ",
                                    offload.optimizer, ", weights ", offload.weights));
          options.offload = offload;
          const std::vector<RankResult> got = Train(options, mesh, 5);
          for (size_t r = 0; r < want.size(); ++r) {
            EXPECT_EQ(got[r].losses, want[r].losses);
            EXPECT_EQ(got[r].norms, want[r].norms);
            EXPECT_EQ(got[r].validation, want[r].validation);
            EXPECT_EQ(got[r].digest, want[r].digest);
          }
        }
      }
    }
  }
}

TEST(OffloadTest, FastModeGivesTheBitsThatItGivesInMemory) {
  for (const MeshShape& mesh : {MeshShape{}, {.shard = 2}}) {
    TrainingOptions options = TinyOptions();
    options.divided = {.values = true, .gradients = true};
    const std::vector<RankResult> want = Train(options, mesh, 5);
    options.offload = kBoth;
    const std::vector<RankResult> got = Train(options, mesh, 5);
    for (size_t r = 0; r < want.size(); ++r) {
      EXPECT_EQ(got[r].losses, want[r].losses) << mesh.shard;
      EXPECT_EQ(got[r].digest, want[r].digest) << mesh.shard;
    }
  }
}

// Notes the most bytes that this thread had of LibTorch at once.
class PeakMemory final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    used_ += bytes;
    peak = std::max(peak, used_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak = 0;

 private:
  int64_t used_ = 0;
};

struct Sizes {
  int64_t peak = 0, values = 0;  // bytes
};

Sizes SizesOf(const OffloadOptions& offload) {
  const auto peak = std::make_shared<PeakMemory>();
  const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, peak);
  TrainingOptions options = TinyOptions();
  options.divided.values = true;
  options.offload = offload;
  planner::ModelShape model = TinyModel(0.0);
  model.layers = 12;
  model.width = 64;
  FreeKeptMemory();
  MemoryStateFiles disk;
  const auto state = MakeState(options, model, &disk);
  const std::atomic<bool> interrupt = false;
  PhaseTimer timer(Clock::Real(), Phase::kOther);
  SyntheticFeed feed(options, model.vocabulary);
  const auto world = MakeLocalCommunicators({});
  Engine engine(*state, feed, timer, interrupt);
  EXPECT_TRUE(engine.BeginAlone(*world[0]).ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(engine.Step({}).ok());
  EXPECT_TRUE(state->Digest().ok());
  Sizes sizes{.peak = peak->peak};
  for (const Unit& unit : state->units()) {
    sizes.values += static_cast<int64_t>(unit.values().nbytes());
  }
  // AdamW keeps two numbers for each weight, and a file two generations of what it keeps.
  const int kept = 2 * offload.optimizer + offload.weights;
  EXPECT_EQ(disk.used(), static_cast<uint64_t>(2 * kept * sizes.values));
  engine.EndRound();
  return sizes;
}

TEST(OffloadTest, StateInFilesIsInMemoryForFewUnitsAtATime) {
  const Sizes all = SizesOf({}), weights = SizesOf(kBoth), optimizer = SizesOf(kOptimizer);
  // One or two of the twelve equal blocks are in use at a time.
  EXPECT_GT(all.peak - optimizer.peak, 2 * all.values * 3 / 4);
  EXPECT_GT(optimizer.peak - weights.peak, all.values / 2);
}

TEST(OffloadTest, ADiskWithoutRoomIsRefusedBeforeTraining) {
  MemoryStateFiles disk;
  disk.SetCapacity(1000);
  TrainingOptions options = TinyOptions();
  options.offload = kOptimizer;
  const auto state = TrainingState::Create(*MakeModel(TinyModel(0.0)), options, {}, &disk);
  EXPECT_EQ(state.status().code(), absl::StatusCode::kResourceExhausted) << state.status();
  EXPECT_EQ(TrainingState::Create(*MakeModel(TinyModel(0.0)), options).status().message(),
            "this process cannot keep its state in files");
}

TEST(OffloadTest, ALaterDivisionWithoutRoomLeavesARankThatHoldsNothingUntilThereIsRoom) {
  MemoryStateFiles disk;
  TrainingOptions options = TinyOptions();
  options.divided.values = true;
  const auto state = MakeTinyState(options, 0.0, &disk);
  options.offload = kBoth;
  ASSERT_TRUE(state->Configure(options).ok());
  disk.SetCapacity(1000);
  EXPECT_EQ(state->Divide({}).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(state->Holds({}));
  disk.SetCapacity(100'000'000);
  ASSERT_TRUE(state->Divide({}).ok());
  EXPECT_TRUE(state->Holds({}));
  EXPECT_TRUE(state->InitializeFresh().ok());
}

// Returns the options of one rank that offloads so much.
TrainingOptions Alone(const OffloadOptions& offload) {
  TrainingOptions options = TinyOptions();
  options.deterministic = true;
  options.divided.values = true;
  options.offload = offload;
  return options;
}

// A rank all of whose state is in files has two versions there while it writes the next one.
TEST(OffloadTest, ADiskThatFailsAnywhereInAStepLeavesTheVersionOfBefore) {
  SoloEngine want(Alone({}));
  want.Losses(3);
  MemoryStateFiles disk;
  int64_t operations = 0;
  {
    SoloEngine counted(Alone(kBoth), 0.0, &disk);
    counted.Step();
    const int64_t before = disk.operations();
    counted.Step();
    operations = disk.operations() - before;
  }
  ASSERT_GT(operations, 20);
  for (int64_t good = 0; good < operations; ++good) {
    SoloEngine solo(Alone(kBoth), 0.0, &disk);
    solo.Step();
    const auto before = solo.state->Digest();
    disk.FailAfter(good);
    const absl::Status failed = solo.engine.Step({}).status();
    disk.FailAfter(-1);
    EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable) << good << ": " << failed;
    ASSERT_TRUE(solo.state->applied().has_value()) << good;
    EXPECT_EQ(solo.state->applied()->step(), 1) << good;
    solo.engine.EndRound();
    EXPECT_EQ(solo.state->Digest(), before) << good;
    solo.GoOn({});
    solo.Losses(2);
    const auto after = solo.state->Digest(), expected = want.state->Digest();
    const auto units = static_cast<std::ptrdiff_t>(2 * solo.state->units().size());
    EXPECT_TRUE(std::equal(after->begin(), after->begin() + units, expected->begin())) << good;
  }
}

TEST(OffloadTest, WeightsInMemoryAreLostByADiskThatFailsOnceSomeAreOverwritten) {
  MemoryStateFiles disk;
  SoloEngine whole(Alone(kOptimizer), 0.0, &disk);
  const int64_t before = disk.operations();
  whole.Step();
  const int64_t operations = disk.operations() - before;
  for (int64_t good = 0; good < operations; ++good) {
    SoloEngine solo(Alone(kOptimizer), 0.0, &disk);
    solo.Step();
    disk.FailAfter(good);
    const absl::Status failed = solo.engine.Step({}).status();
    disk.FailAfter(-1);
    // The two moments of the first unit are read before its weights are written.
    const bool lost = good >= 2;
    EXPECT_EQ(solo.state->applied().has_value(), !lost) << good;
    EXPECT_EQ(failed.code(), lost ? absl::StatusCode::kDataLoss : absl::StatusCode::kUnavailable)
        << failed;
    EXPECT_TRUE(!lost || absl::StrContains(failed.message(),
                                           "the disk fails; this rank's weights were being "
                                           "overwritten in memory and are lost"))
        << failed;
  }
}

}  // namespace
}  // namespace muster::trainer
