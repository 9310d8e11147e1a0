// Tests that the state may be read in the background until it changes.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ATen/ops/equal.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/engine/testing/solo_engine.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/thread_rounds.h"

namespace muster::trainer {
namespace {

TEST(StateChangesTest, EveryChangeIsAnnouncedBeforeIt) {
  SoloEngine solo(TinyOptions(), 0.1);
  TrainingState& state = *solo.state;
  solo.Step();
  std::vector<std::vector<int64_t>> announced;
  // Later calls of one change may find it half done.
  state.OnChange([&] {
    if (announced.empty()) announced.push_back(*state.Digest());
  });
  const auto expect_announced = [&](const char* name, const std::function<void()>& change) {
    const std::vector<int64_t> before = *state.Digest();
    announced.clear();
    change();
    ASSERT_FALSE(announced.empty()) << name;
    EXPECT_EQ(announced[0], before) << name;
    EXPECT_NE(*state.Digest(), before) << name;
  };
  expect_announced("a step", [&] { solo.Step(); });
  expect_announced("a part that is filled", [&] {
    const auto zero = [](at::Tensor elements) {
      elements.zero_();
      return absl::OkStatus();
    };
    EXPECT_TRUE(state.FillPart(state.OptimizerParts()[0], zero).ok());
  });
  expect_announced("another shard", [&] { EXPECT_TRUE(state.Divide({0, 2}).ok()); });
  expect_announced("other slices", [&] { state.Adopt(*state.MakeHolding({0, 1}, 0)); });
  expect_announced("initial weights", [&] { EXPECT_TRUE(state.InitializeFresh().ok()); });
  state.OnChange(nullptr);
  announced.clear();
  EXPECT_TRUE(state.InitializeFresh().ok());
  EXPECT_TRUE(announced.empty());
}

TEST(StateChangesTest, ASaveIsOfTheStepItWasBegunAfter) {
  MemoryFiles files;
  RecordingOutbox outbox;
  SoloEngine solo(TinyOptions(), 0.1), calm(TinyOptions(), 0.1), loaded(TinyOptions(), 0.1);
  CheckpointStore store(files, Clock::Real(), "/ck", 2,
                        RunIdentity{.job = "default/job", .job_uid = "uid", .vocabulary = 61},
                        outbox);
  solo.state->OnChange([&store] { store.FinishCopy(); });
  for (int step = 1; step <= 10; ++step) {
    solo.Step();
    ASSERT_TRUE(store.Save(*solo.state, {}).ok());
    solo.Step();
    ASSERT_TRUE(store.WaitIdle(absl::Minutes(1)));
    calm.Step();
    const Checkpoints::Listing listing = store.List(*loaded.state);
    ASSERT_FALSE(listing.complete.empty());
    ASSERT_EQ(listing.complete[0].version().step(), 2 * step - 1);
    ASSERT_TRUE(store.Load(listing.complete[0], *loaded.state).ok());
    for (const bool optimizer : {false, true}) {
      const auto parts = [optimizer](const TrainingState& state) {
        return optimizer ? state.OptimizerParts() : state.ValueParts();
      };
      const auto ours = parts(*loaded.state), want = parts(*calm.state);
      for (size_t i = 0; i < ours.size(); ++i) {
        ASSERT_TRUE(at::equal(ours[i].elements, want[i].elements)) << step << " " << ours[i].name;
      }
    }
    calm.Step();
  }
}

}  // namespace
}  // namespace muster::trainer
