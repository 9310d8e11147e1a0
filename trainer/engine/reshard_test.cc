// Tests what a rank reads of a checkpoint, and how much, whose layout is not that of the ranks that
// saved it.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ATen/ops/equal.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/testing/counting_files.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/pieces.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/model/partition.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {
namespace {

constexpr planner::ModelShape kShape{
    .layers = 1, .heads = 4, .width = 256, .positions = 16, .vocabulary = 6000};

// No number of ranks divides its vocabulary.
constexpr planner::ModelShape kOddShape{
    .layers = 1, .heads = 4, .width = 64, .positions = 16, .vocabulary = 601};

// Makes the state hold fresh weights as step 1.
void BeginAt1(TrainingState& state) {
  v1alpha1::RoundId round;
  round.set_round(1);
  EXPECT_TRUE(state.commit().Prepare(round).ok());
  v1alpha1::ResumePoint resume;
  resume.set_source(v1alpha1::ResumePoint::FRESH);
  resume.mutable_version()->set_step(1);
  resume.mutable_version()->set_attempt(1);
  resume.set_next_attempt(2);
  resume.set_history("00000000000000aa");
  EXPECT_TRUE(state.commit().Go(round, 0, resume).ok());
  EXPECT_TRUE(state.commit().Restored().ok());
  EXPECT_TRUE(state.InitializeFresh().ok());
}

// Returns the state of rank `index` of `shard` ranks that divide all of it.
std::unique_ptr<TrainingState> StateOf(int index, int shard) {
  TrainingOptions options = TinyOptions();
  options.divided = {.values = shard > 1, .gradients = shard > 1};
  auto state = MakeState(options, kShape);
  EXPECT_TRUE(state->Divide({index, shard}).ok());
  BeginAt1(*state);
  return state;
}

class ReshardTest : public testing::Test {
 protected:
  std::unique_ptr<CheckpointStore> Store(const std::string& uri = "/ck") {
    return std::make_unique<CheckpointStore>(
        files_, Clock::Real(), uri, 2,
        RunIdentity{.job = "default/job", .job_uid = "uid", .vocabulary = kShape.vocabulary},
        outbox_);
  }
  void SaveBy(int ranks) {
    v1alpha1::RoundId round;
    round.set_round(1);
    for (int rank = ranks - 1; rank >= 0; --rank) {
      const auto state = StateOf(rank, ranks);
      const auto store = Store();
      ASSERT_TRUE(store->Save(*state, {.round = round, .rank = rank, .world_size = ranks}).ok());
      ASSERT_TRUE(store->WaitIdle(absl::Minutes(1)));
    }
  }

  MemoryFiles memory_;
  CountingFiles files_{memory_, ".safetensors"};
  RecordingOutbox outbox_;
};

struct Bytes {
  uint64_t held = 0;     // by the rank
  uint64_t at_ends = 0;  // the most that pieces may have beyond the ends of what it holds
};

Bytes BytesOf(const TrainingState& state) {
  Bytes bytes;
  for (const auto& parts : {state.ValueParts(), state.OptimizerParts()}) {
    for (const TensorPart& part : parts) {
      int64_t elements = 1;
      for (const int64_t length : part.shape) elements *= length;
      const int64_t before = part.begin, after = elements - before - part.elements.numel();
      bytes.held += part.elements.nbytes();
      if (part.elements.numel() == 0) continue;
      for (const int64_t beyond : {before, after}) {
        bytes.at_ends += std::min<uint64_t>(kPieceBytes, static_cast<uint64_t>(beyond) * 4);
      }
    }
  }
  return bytes;
}

TEST_F(ReshardTest, ARankReadsTheBytesThatItWillHoldAndAtMostAPieceAtEachEnd) {
  SaveBy(4);
  // Slices of 1 and of 2 ranks end where slices of 4 end; those of 3 do not.
  for (const int ranks : {1, 2, 3}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto state = StateOf(rank, ranks);
      const auto store = Store();
      const Checkpoints::Listing listing = store->List(*state);
      ASSERT_EQ(listing.complete.size(), 1u);
      files_.TakeCount();
      const auto version = store->Load(listing.complete[0], *state);
      ASSERT_TRUE(version.ok()) << version.status();
      const uint64_t read = files_.TakeCount();
      const Bytes bytes = BytesOf(*state);
      EXPECT_GE(read, bytes.held) << rank << " of " << ranks;
      EXPECT_LE(read, bytes.held + (ranks == 3 ? bytes.at_ends : 0)) << rank << " of " << ranks;
    }
  }
}

struct Layout {
  int data = 1, shard = 1, context = 1, tensor = 1;
  bool divided = false;  // values, too

  int ranks() const { return data * shard * context * tensor; }
};

// Returns the state of a rank, whose numbers are made of their tensors' names and of their places
// in the whole tensors; or, without `marked`, of nothing that a checkpoint holds.
std::unique_ptr<TrainingState> Marked(const Layout& layout, int rank, bool marked) {
  TrainingOptions options = TinyOptions();
  options.divided = {.values = layout.divided, .gradients = layout.divided};
  options.parts = layout.tensor;
  const int part = rank % layout.tensor;
  const int shard = rank / (layout.tensor * layout.context) % layout.shard;
  auto state =
      *TrainingState::Create(*MakeModel(kOddShape), options, {shard, layout.shard}, nullptr, part);
  BeginAt1(*state);
  for (const auto& parts : {state->ValueParts(), state->OptimizerParts()}) {
    for (const TensorPart& each : parts) {
      const auto mark = static_cast<float>(std::hash<std::string>()(each.name) % 1000);
      std::vector<float> numbers;
      for (const ElementRun& run : RunsOfPart(each.shape, each.partition, each.part)) {
        for (int64_t i = 0; i < run.count; ++i) {
          numbers.push_back(marked ? mark + static_cast<float>(run.begin + i) : -1.0F);
        }
      }
      const absl::Status filled = state->FillPart(each, [&](const at::Tensor& elements) {
        std::copy_n(numbers.begin() + each.begin, elements.numel(),
                    elements.mutable_data_ptr<float>());
        return absl::OkStatus();
      });
      EXPECT_TRUE(filled.ok()) << filled;
    }
  }
  state->EndFill();
  return state;
}

TEST_F(ReshardTest, WhatAnyLayoutSavedIsLoadedIntoAnyOther) {
  const Layout layouts[] = {{},
                            {.tensor = 2},
                            {.shard = 3, .tensor = 2},
                            {.data = 2, .tensor = 4},
                            {.data = 2, .shard = 2, .context = 3},
                            {.shard = 2, .context = 2, .tensor = 2, .divided = true},
                            {.data = 2, .shard = 2, .tensor = 2, .divided = true},
                            {.shard = 3, .divided = true}};
  for (const Layout& saved : layouts) {
    const std::string uri =
        absl::StrCat("/ck/", saved.shard, "x", saved.context, "x", saved.tensor);
    v1alpha1::RoundId round;
    round.set_round(1);
    for (int rank = saved.ranks() - 1; rank >= 0; --rank) {
      const auto state = Marked(saved, rank, true);
      const auto store = Store(uri);
      const absl::Status status = store->Save(
          *state,
          {.round = round, .rank = rank, .world_size = saved.ranks(), .context = saved.context});
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_TRUE(store->WaitIdle(absl::Minutes(1)));
    }
    for (const Layout& loaded : layouts) {
      SCOPED_TRACE(
          absl::StrCat(uri, " into ", loaded.shard, " x ", loaded.context, " x ", loaded.tensor));
      for (int rank = 0; rank < loaded.ranks(); ++rank) {
        const auto state = Marked(loaded, rank, false), want = Marked(loaded, rank, true);
        const auto store = Store(uri);
        const Checkpoints::Listing listing = store->List(*state);
        ASSERT_EQ(listing.complete.size(), 1u);
        EXPECT_EQ(listing.complete[0].mismatch(), "");
        const auto version = store->Load(listing.complete[0], *state);
        ASSERT_TRUE(version.ok()) << version.status();
        const auto holds = store->Holds(listing.complete[0], *state);
        EXPECT_TRUE(holds.ok() && *holds) << holds.status();
        const auto got = state->FlatTensors(), expected = want->FlatTensors();
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TRUE(at::equal(got[i].tensor, expected[i].tensor)) << expected[i].name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::trainer
