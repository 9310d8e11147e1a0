#include "trainer/checkpoint/round_mark.h"

#include "absl/status/status.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/claim.h"

namespace muster::trainer {
namespace {

RoundMark Mark(int64_t term, int64_t round) {
  return {.job_uid = "1", .term = term, .round = round};
}

class RoundMarkTest : public testing::Test {
 protected:
  static void Claim(Files& files) {
    ASSERT_TRUE(ClaimCheckpoints(files, "/ck", {"default/a", "1"}, Takeover::kNever).ok());
  }
  MemoryFiles files_;
};

TEST_F(RoundMarkTest, IsFoundByRanksThatHaveTheSameDirectory) {
  Claim(files_);
  ASSERT_TRUE(WriteRoundMark(files_, "/ck", Mark(1, 2)).ok());
  EXPECT_TRUE(FindRoundMark(files_, "/ck", Mark(1, 2)).ok());
  EXPECT_TRUE(ListCheckpoints(files_, "/ck")->empty()) << "a mark is no checkpoint";
}

TEST_F(RoundMarkTest, IsNotFoundInAnotherDirectoryOfTheSamePath) {
  Claim(files_);
  MemoryFiles other;
  Claim(other);
  ASSERT_TRUE(WriteRoundMark(files_, "/ck", Mark(1, 2)).ok());
  EXPECT_TRUE(absl::IsNotFound(FindRoundMark(other, "/ck", Mark(1, 2))));
}

TEST_F(RoundMarkTest, OfAnotherRoundOrTermOrJobIsNone) {
  Claim(files_);
  ASSERT_TRUE(WriteRoundMark(files_, "/ck", Mark(1, 2)).ok());
  EXPECT_TRUE(absl::IsNotFound(FindRoundMark(files_, "/ck", Mark(1, 3))));
  EXPECT_TRUE(absl::IsNotFound(FindRoundMark(files_, "/ck", Mark(2, 2))));
  const RoundMark another_job = {.job_uid = "2", .term = 1, .round = 2};
  EXPECT_TRUE(absl::IsNotFound(FindRoundMark(files_, "/ck", another_job)));
}

TEST_F(RoundMarkTest, IsWrittenOnlyToAClaimedDirectory) {
  EXPECT_TRUE(absl::IsNotFound(WriteRoundMark(files_, "/ck", Mark(1, 2))));
}

}  // namespace
}  // namespace muster::trainer
