// The layout of checkpoints in an object store, where nothing is renamed.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/testing/memory_objects.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/abandon.h"
#include "trainer/checkpoint/catalog.h"
#include "trainer/checkpoint/claim.h"
#include "trainer/checkpoint/layout.h"
#include "trainer/checkpoint/writer_test_util.h"

namespace muster::trainer {
namespace {

using v1alpha1::CheckpointReport;

constexpr char kBucket[] = "s3://bucket/a";
constexpr char kHistory[] = "00000000000000aa";

class ObjectLayoutTest : public WriterTest {
 protected:
  std::unique_ptr<CheckpointWriter> Writer() {
    WriterOptions options;
    options.uri = kBucket;
    options.keep = 2;
    options.collect_margin = absl::Minutes(1);
    options.start_thread = false;
    return std::make_unique<CheckpointWriter>(
        objects_, clock_, options, [this](const CheckpointReport& r) { reports_.push_back(r); });
  }
  static Snapshot Of(const State& state, int64_t step, int writer, int writers, int64_t round) {
    Snapshot snapshot = Share(state, step, writer, writers, round, false);
    snapshot.run.history = kHistory;
    snapshot.run.job_uid = "uid";
    snapshot.run.attempt = round;
    return snapshot;
  }
  // Saves a step by two writers and returns the report of the first.
  CheckpointReport SaveStep(int64_t step, int64_t round) {
    const State state = StateAt(step);
    const auto first = Writer(), second = Writer();
    EXPECT_TRUE(first->Begin(Of(state, step, 0, 2, round)).ok());
    EXPECT_TRUE(second->Begin(Of(state, step, 1, 2, round)).ok());
    while (second->RunOnce()) {
    }
    while (first->RunOnce()) {
    }
    return reports_.back();
  }
  static std::string NameOf(int64_t step, int64_t round) {
    return ObjectCheckpointName(step, "uid", 0, round);
  }
  Strings Directories() {
    Strings names;
    for (const DirectoryEntry& entry :
         objects_.List(kBucket).value_or(std::vector<DirectoryEntry>())) {
      names.push_back(entry.name);
    }
    return names;
  }
  Strings Complete() {
    Strings names;
    const auto listings = ListCheckpoints(objects_, kBucket).value();
    for (const CheckpointListing& listing : listings) {
      if (listing.complete) names.push_back(listing.directory);
    }
    return names;
  }

  MemoryObjects objects_;
};

TEST_F(ObjectLayoutTest, ACheckpointHasItsNameFromTheFirstByteOn) {
  const CheckpointReport report = SaveStep(5, 7);
  EXPECT_EQ(report.phase(), CheckpointReport::WRITTEN) << report.error();
  EXPECT_EQ(report.directory(), NameOf(5, 7));
  EXPECT_TRUE(absl::StartsWith(report.directory(), "step-000000005.r7-")) << report.directory();
  EXPECT_EQ(Directories(), Strings{report.directory()});
  EXPECT_EQ(Complete(), Strings{report.directory()});
  EXPECT_TRUE(VerifyCheckpoint(objects_, JoinPath(kBucket, report.directory())).ok());
}

TEST_F(ObjectLayoutTest, WithoutDoneItIsHalfWrittenAndTheNextRoundsSavePrunesIt) {
  SaveStep(5, 1);
  ASSERT_TRUE(objects_.Remove(JoinPath(JoinPath(kBucket, NameOf(5, 1)), kDoneName)).ok());
  EXPECT_EQ(Complete(), Strings{});
  SaveStep(6, 2);
  EXPECT_EQ(Directories(), Strings{NameOf(6, 2)});
}

TEST_F(ObjectLayoutTest, ANewerRoundSupersedesAndItsOwnPruneDeletesTheOlder) {
  SaveStep(5, 1);
  EXPECT_EQ(SaveStep(5, 2).phase(), CheckpointReport::WRITTEN);
  EXPECT_EQ(Directories(), Strings{NameOf(5, 2)});
}

TEST_F(ObjectLayoutTest, OfTwoWholeCheckpointsOfAStepTheNewerRoundsCounts) {
  const std::string older = NameOf(5, 1), newer = NameOf(5, 2);
  SaveStep(5, 1);
  // A copy, so that both are there at once.
  Strings names;
  std::vector<std::string> contents;
  const auto entries = objects_.List(JoinPath(kBucket, older)).value();
  for (const DirectoryEntry& entry : entries) {
    names.push_back(entry.name);
    contents.push_back(ReadFile(objects_, JoinPath(JoinPath(kBucket, older), entry.name)).value());
  }
  SaveStep(5, 2);
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(
        WriteFileAtomically(objects_, JoinPath(JoinPath(kBucket, older), names[i]), contents[i])
            .ok());
  }
  EXPECT_EQ(Complete(), Strings{newer});
  const auto listings = ListCheckpoints(objects_, kBucket).value();
  ASSERT_EQ(listings.size(), 2u);
  EXPECT_TRUE(listings[1].superseded);
  EXPECT_EQ(listings[1].problem, absl::StrCat("superseded by ", newer));
  // The older one must not come back when the newer one is given up.
  RunRecord run;
  run.history = kHistory;
  run.job_uid = "uid";
  run.step = 3;
  run.round = 3;
  ASSERT_TRUE(SetAside(objects_, kBucket, run).ok());
  EXPECT_EQ(Complete(), Strings{});
  EXPECT_EQ(ListAbandoned(objects_, kBucket)->size(), 2u);
}

TEST_F(ObjectLayoutTest, AZombiesSaveIsRefusedAndLeavesNothing) {
  SaveStep(5, 2);
  const CheckpointReport zombie = SaveStep(5, 1);
  EXPECT_EQ(zombie.phase(), CheckpointReport::FAILED);
  EXPECT_TRUE(absl::StrContains(zombie.error(), "round 2 has published this step"))
      << zombie.error();
  EXPECT_EQ(Directories(), Strings{NameOf(5, 2)});
}

TEST_F(ObjectLayoutTest, OldCheckpointsArePrunedBeyondKeep) {
  for (const int64_t step : {1, 2, 3, 4}) SaveStep(step, 1);
  EXPECT_EQ(Complete(), (Strings{NameOf(4, 1), NameOf(3, 1)}));
  EXPECT_EQ(Directories().size(), 2u);
}

TEST_F(ObjectLayoutTest, AnAbandonedCheckpointStaysWhereItIsAndCountsNowhere) {
  SaveStep(5, 1);
  RunRecord run;
  run.history = "00000000000000bb";
  run.job_uid = "uid";
  run.round = 2;
  ASSERT_TRUE(SetAside(objects_, kBucket, run).ok());
  EXPECT_EQ(ListCheckpoints(objects_, kBucket)->size(), 0u);
  const auto abandoned = ListAbandoned(objects_, kBucket).value();
  ASSERT_EQ(abandoned.size(), 1u);
  EXPECT_EQ(abandoned[0].directory, NameOf(5, 1));
  EXPECT_TRUE(abandoned[0].complete);
}

TEST_F(ObjectLayoutTest, OneJobClaimsAPrefixAndAnotherIsRefused) {
  const ClaimOwner owner = {"team/a", "1"}, other = {"team/b", "2"};
  ASSERT_TRUE(ClaimCheckpoints(objects_, kBucket, owner, Takeover::kNever).ok());
  EXPECT_TRUE(ClaimCheckpoints(objects_, kBucket, owner, Takeover::kNever).ok());
  EXPECT_EQ(ClaimCheckpoints(objects_, kBucket, other, Takeover::kFromEarlierJob).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(CheckWritable(objects_, kBucket).ok());
  EXPECT_EQ(Directories(), Strings{"claim"}) << "the probe stayed";
  const RoundMark mark = {"1", 1, 2};
  ASSERT_TRUE(WriteRoundMark(objects_, kBucket, mark).ok());
  EXPECT_TRUE(FindRoundMark(objects_, kBucket, mark).ok());
}

TEST_F(ObjectLayoutTest, RoundsOfDifferentJobsAndTermsHaveDifferentNames) {
  EXPECT_NE(ObjectCheckpointName(5, "a", 1, 1), ObjectCheckpointName(5, "b", 1, 1));
  EXPECT_NE(ObjectCheckpointName(5, "a", 1, 1), ObjectCheckpointName(5, "a", 2, 1));
  EXPECT_EQ(StepOfCheckpointName(ObjectCheckpointName(5, "a", 1, 1)), 5);
  for (const char* wrong :
       {"step-000000005.r1", "step-000000005.r1-0123abc", "step-000000005.r1-0123abcg",
        "step-000000005.r01-0123abcd", "step-000000005.r-0123abcd", "step-5.r1-0123abcd",
        "step-000000005.old.r1", "step-000000005.r1-0123abcd.2"}) {
    EXPECT_EQ(StepOfCheckpointName(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace muster::trainer
