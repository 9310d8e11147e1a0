// Loads checkpoints that were written when their formats were settled: later versions go on reading
// them.

#include <memory>
#include <string>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/engine/store/checkpoint_store.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/thread_rounds.h"

namespace muster::trainer {
namespace {

// Each fixture has the files of a directory: a name and its bytes in hexadecimal digits, on one
// line each.
constexpr char kFixtures[] = "trainer/engine/testdata";
constexpr char kDirectory[] = "step-000000003";

std::unique_ptr<TrainingState> FrozenState() {
  return MakeState(TinyOptions(),
                   {.layers = 1, .heads = 1, .width = 4, .positions = 4, .vocabulary = 5});
}

// Returns the numbers that the fixture holds of a unit: values, then each tensor of the optimizer.
at::Tensor Numbers(int64_t elements, int tensor) {
  return at::arange(elements, at::kFloat).add_(0.25 * tensor);
}

void ExpectFrozenNumbers(const TrainingState& state) {
  for (size_t u = 0; u < state.units().size(); ++u) {
    const Unit& unit = state.units()[u];
    const int64_t elements = unit.layout().elements;
    const auto optimizer = state.optimizer().state(static_cast<int>(u));
    for (size_t t = 0; t < unit.parameters().size(); ++t) {
      const UnitTensor& tensor = unit.layout().tensors[t];
      EXPECT_TRUE(at::equal(unit.parameters()[t].detach().flatten(),
                            Numbers(elements, 0).narrow(0, tensor.offset, tensor.size)))
          << tensor.spec.name;
      for (size_t i = 0; state.shard().whole() && i < optimizer.size(); ++i) {
        EXPECT_TRUE(at::equal(
            optimizer[i].narrow(0, tensor.offset, tensor.size),
            Numbers(elements, static_cast<int>(i) + 1).narrow(0, tensor.offset, tensor.size)))
            << tensor.spec.name << " " << i;
      }
    }
  }
}

class FrozenCheckpointTest : public testing::Test {
 protected:
  // Puts the files of a fixture where checkpoints are looked for.
  void Unpack(const std::string& fixture) {
    const std::string folder = JoinPath("/ck", kDirectory);
    ASSERT_TRUE(files_.MakeDirectories(folder).ok());
    const auto text = ReadFile(FileSystem(), JoinPath(kFixtures, fixture));
    ASSERT_TRUE(text.ok()) << text.status();
    for (const auto line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(line, ' ');
      ASSERT_EQ(parts.size(), 2u);
      const std::string path = JoinPath(folder, parts[0]);
      ASSERT_TRUE(WriteFileAtomically(files_, path, absl::HexStringToBytes(parts[1])).ok());
    }
  }

  void ExpectLoads(const Shard& shard) {
    const auto state = FrozenState();
    ASSERT_TRUE(state->Divide(shard).ok());
    const Checkpoints::Listing listing = store_.List(*state);
    EXPECT_EQ(listing.error, "");
    ASSERT_EQ(listing.complete.size(), 1u);
    EXPECT_EQ(listing.complete[0].mismatch(), "");
    EXPECT_EQ(listing.complete[0].history(), "00000000000000aa");
    const auto version = store_.Load(listing.complete[0], *state);
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_EQ(version->step(), 3);
    EXPECT_EQ(version->attempt(), 1);
    EXPECT_EQ(state->counts(), (RunCounts{.updates = 2, .samples = 30, .skipped = {1, 1}}));
    ExpectFrozenNumbers(*state);
  }

  MemoryFiles files_;
  RecordingOutbox outbox_;
  CheckpointStore store_{files_,
                         Clock::Real(),
                         "/ck",
                         3,
                         RunIdentity{.job = "default/job", .job_uid = "uid", .vocabulary = 5},
                         outbox_};
};

TEST_F(FrozenCheckpointTest, FormatOneLoadsWholeAndInParts) {
  Unpack("checkpoint-format-1.txt");
  for (const Shard& shard : {Shard{}, Shard{0, 2}, Shard{1, 2}}) ExpectLoads(shard);
}

// Two ranks wrote it, each its half.
TEST_F(FrozenCheckpointTest, FormatTwoLoadsWholeAndInOtherParts) {
  Unpack("checkpoint-format-2.txt");
  for (const Shard& shard : {Shard{}, Shard{0, 2}, Shard{1, 2}, Shard{2, 3}}) ExpectLoads(shard);
}

}  // namespace
}  // namespace muster::trainer
