#include "trainer/checkpoint/writer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/counting_files.h"
#include "base/testing/memory_files.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/checkpoint/catalog.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/checkpoint/writer_test_util.h"

namespace muster::trainer {
namespace {

using v1alpha1::CheckpointReport;
TEST_F(WriterTest, WritesWhatHuggingFaceReads) {
  EXPECT_EQ(Save(1000).phase(), CheckpointReport::WRITTEN);
  EXPECT_EQ(Names(), (Strings{"step-000001000"}));
  EXPECT_EQ(Names("/ck/step-000001000"),
            (Strings{"DONE", "config.json", "manifest.json", "model-00001-of-00001.safetensors",
                     "model.safetensors.index.json", "optimizer-00001-of-00001.safetensors",
                     "tokenizer.json"}));
  const Json index =
      Json::parse(ReadFile(files_, "/ck/step-000001000/model.safetensors.index.json").value());
  EXPECT_EQ(index["weight_map"], (Json{{"embedding", "model-00001-of-00001.safetensors"},
                                       {"weight", "model-00001-of-00001.safetensors"}}));
  EXPECT_EQ(NewestStep(), 1000);
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_EQ(reports_[0].phase(), CheckpointReport::STARTED);
  EXPECT_EQ(reports_[1].directory(), "step-000001000");
  EXPECT_GT(reports_[1].bytes(), 200);
}

TEST_F(WriterTest, TheStateMayChangeOnceTheCopyIsFinished) {
  auto writer = Make();
  State state = StateAt(5);
  ASSERT_TRUE(writer->Begin(Share(state, 5, 0, 1, 1, false)).ok());
  EXPECT_TRUE(writer->busy());
  EXPECT_EQ(writer->Begin(Share(state, 6, 0, 1, 1, false)).code(), absl::StatusCode::kUnavailable);
  writer->FinishCopy();
  state.embedding.assign(24, -1);
  state.weight.assign(10, -1);
  while (writer->RunOnce()) {
  }
  EXPECT_FALSE(writer->busy());
  EXPECT_EQ(NewestStep(), 5);
}

TEST_F(WriterTest, ACheckpointOfAnyNumberOfWritersReadsTheSame) {
  int64_t step = 0;
  for (const bool divide : {false, true}) {
    for (const int writers : {1, 3, 2}) {
      ++step;
      EXPECT_EQ(Save(step, writers, divide).phase(), CheckpointReport::WRITTEN)
          << reports_.back().error();
      EXPECT_EQ(NewestStep(), step);
    }
  }
}

// transformers would take weights that the index leaves out for new ones.
TEST_F(WriterTest, WeightsInPartsHaveNoIndexOfHuggingFaces) {
  EXPECT_EQ(Save(1, /*writers=*/2, /*divide=*/true).phase(), CheckpointReport::WRITTEN);
  const Strings names = Names("/ck/step-000000001");
  EXPECT_EQ(std::count(names.begin(), names.end(), "model.safetensors.index.json"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "model-00002-of-00002.safetensors"), 1);
}

TEST_F(WriterTest, KeepsTwo) {
  for (int64_t step = 1; step <= 4; ++step) Save(step);
  EXPECT_EQ(Names(), (Strings{"step-000000003", "step-000000004"}));
}

TEST_F(WriterTest, AnotherNumberToKeepTakesEffectWithTheNextSave) {
  auto writer = Make();
  for (int64_t step = 1; step <= 7; ++step) {
    if (step == 2) writer->SetKeep(4);
    if (step == 7) writer->SetKeep(3);
    const State state = StateAt(step);
    ASSERT_TRUE(writer->Begin(Share(state, step, 0, 1, 1, false)).ok());
    while (writer->RunOnce()) {
    }
    if (step == 6) EXPECT_EQ(Names().size(), 4u);
  }
  EXPECT_EQ(Names(), (Strings{"step-000000005", "step-000000006", "step-000000007"}));
}

TEST_F(WriterTest, LeftoversOfOlderRoundsAreDeletedAfterSuccess) {
  for (const char* name :
       {"/ck/step-000000001.r1", "/ck/step-000000009.r1", "/ck/mine.r1", "/ck/step-000000002.r7"}) {
    ASSERT_TRUE(files_.MakeDirectories(name).ok());
  }
  Save(2, 1, false, /*round=*/5);
  EXPECT_EQ(Names(),
            (Strings{"mine.r1", "step-000000002", "step-000000002.r7", "step-000000009.r1"}));
}

// A writer that is slower than writer 0's failure makes the removed folder again.
TEST_F(WriterTest, LeftoversOfAFailedSaveOfTheSameRoundAreDeletedAfterSuccess) {
  ASSERT_TRUE(files_.MakeDirectories(std::string(kUri) + "/step-000000001.r1").ok());
  ASSERT_TRUE(files_.MakeDirectories(std::string(kUri) + "/step-000000003.r1").ok());
  Save(2);
  EXPECT_EQ(Names(), (Strings{"step-000000002", "step-000000003.r1"}));
}

TEST_F(WriterTest, DeathAtAnyChangeLeavesTheOlderOrTheNewerWhole) {
  for (const bool power_cut : {false, true}) {
    for (int64_t death = 0;; ++death) {
      files_.Crash();
      ASSERT_TRUE(RemoveAll(files_, kUri).ok());
      Save(1);
      Save(2);
      ASSERT_TRUE(files_.SyncDirectory("/").ok());
      files_.KillAfter(death);
      const bool written = Save(3, 2).phase() == CheckpointReport::WRITTEN;
      if (power_cut) {
        files_.Crash();
      } else {
        files_.KillAfter(-1);
      }
      const int64_t newest = NewestStep();
      EXPECT_TRUE(newest == 2 || newest == 3) << "death at change " << death;
      EXPECT_TRUE(newest == 3 || !written) << "death at change " << death;
      if (Names() == Strings{"step-000000002", "step-000000003"}) break;
      ASSERT_LT(death, 200);
    }
  }
}

TEST_F(WriterTest, AFullDiskIsReportedAndLeavesNothing) {
  Save(1);
  files_.SetCapacity(0);
  const CheckpointReport full = Save(2);
  EXPECT_EQ(full.phase(), CheckpointReport::FAILED);
  EXPECT_TRUE(absl::StrContains(full.error(), "are free")) << full.error();
  EXPECT_EQ(Names(), (Strings{"step-000000001"}));
  files_.SetCapacity(UINT64_MAX);
  EXPECT_EQ(Save(3).phase(), CheckpointReport::WRITTEN);
  EXPECT_EQ(NewestStep(), 3);
}

TEST_F(WriterTest, AFailureAtAnyChangeIsCleanedUpAndTheNextSaveWorks) {
  for (int fail_at = 0;; ++fail_at) {
    int change = 0;
    files_.SetFault([&](MemoryFiles::Operation operation, const std::string& path) {
      // Removals work on a full disk; otherwise nothing could be cleaned up.
      if (operation == MemoryFiles::Operation::kRemove) return absl::OkStatus();
      if (change++ == fail_at) return absl::ResourceExhaustedError(path + ": No space left");
      return absl::OkStatus();
    });
    const CheckpointReport report = Save(1);
    files_.SetFault(nullptr);
    if (report.phase() == CheckpointReport::WRITTEN) break;
    EXPECT_TRUE(absl::StrContains(report.error(), "No space left")) << report.error();
    const Strings left = Names();
    // The rename may have happened and only its sync failed. Otherwise nothing stays.
    EXPECT_TRUE(left.empty() || left == Strings{"step-000000001"}) << left[0];
    ASSERT_TRUE(RemoveAll(files_, kUri).ok());
    ASSERT_LT(fail_at, 200);
  }
  EXPECT_EQ(NewestStep(), 1);
}

TEST_F(WriterTest, AnotherWritersFailureEndsTheSaveAtOnce) {
  const State state = StateAt(1);
  auto zero = Make(), one = Make();
  ASSERT_TRUE(zero->Begin(Share(state, 1, 0, 2, 1, false)).ok());
  ASSERT_TRUE(one->Begin(Share(state, 1, 1, 2, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_FALSE(zero->RunOnce()) << "waits for writer 1";
  files_.SetFault([&](MemoryFiles::Operation, const std::string& path) {
    return absl::StrContains(path, "00002-of") ? absl::PermissionDeniedError(path + ": denied")
                                               : absl::OkStatus();
  });
  EXPECT_TRUE(one->RunOnce());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_EQ(reports_.back().phase(), CheckpointReport::FAILED);
  EXPECT_TRUE(absl::StrContains(reports_.back().error(), "writer 1 failed"));
  EXPECT_EQ(Names(), Strings());
}

TEST_F(WriterTest, SilentWritersAreWaitedForNoLongerThanTheDeadline) {
  auto zero = Make(absl::Seconds(10));
  const State state1 = StateAt(1);
  ASSERT_TRUE(zero->Begin(Share(state1, 1, 0, 3, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_FALSE(zero->RunOnce());
  clock_.Advance(absl::Seconds(11));
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_EQ(reports_.back().error(), "writers 1, 2 have not written their shares within 10s");
  EXPECT_EQ(Names(), Strings());
}

TEST_F(WriterTest, ANewerRoundsSnapshotDisplacesOneThatWaits) {
  auto zero = Make();
  const State state1 = StateAt(1);
  ASSERT_TRUE(zero->Begin(Share(state1, 1, 0, 2, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  const State state2 = StateAt(2);
  ASSERT_TRUE(zero->Begin(Share(state2, 2, 0, 1, 2, false)).ok());
  while (zero->RunOnce()) {
  }
  EXPECT_EQ(Names(), (Strings{"step-000000002"}));
  EXPECT_EQ(reports_[1].phase(), CheckpointReport::FAILED);
}

TEST_F(WriterTest, AbandonCompletesACheckpointWhoseSharesAreAllWritten) {
  const State state = StateAt(1);
  auto zero = Make(), one = Make();
  ASSERT_TRUE(zero->Begin(Share(state, 1, 0, 2, 1, false)).ok());
  ASSERT_TRUE(one->Begin(Share(state, 1, 1, 2, 1, false)).ok());
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_TRUE(one->RunOnce());
  zero->Abandon();
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_EQ(NewestStep(), 1);
}

TEST_F(WriterTest, AZombiesLateShardsLandNowhere) {
  const State state = StateAt(1);
  auto zombie = Make();
  ASSERT_TRUE(zombie->Begin(Share(state, 1, 0, 1, /*round=*/1, false)).ok());
  Save(1, 1, false, /*round=*/2);
  const std::string before = ReadFile(files_, "/ck/step-000000001/manifest.json").value();
  while (zombie->RunOnce()) {
  }
  EXPECT_EQ(reports_.back().phase(), CheckpointReport::FAILED);
  EXPECT_TRUE(absl::StrContains(reports_.back().error(), "round 2 has published this step"));
  EXPECT_EQ(ReadFile(files_, "/ck/step-000000001/manifest.json").value(), before);
  EXPECT_EQ(Names(), (Strings{"step-000000001"}));
}

TEST_F(WriterTest, AStepRedoneInALaterRoundReplacesTheOlder) {
  Save(1, 1, false, 1);
  Save(1, 1, false, 2);
  const auto listing = InspectCheckpoint(files_, "/ck/step-000000001");
  EXPECT_TRUE(listing.complete);
  EXPECT_EQ(listing.round, 2);
  EXPECT_EQ(Names(), (Strings{"step-000000001"}));
}

TEST_F(WriterTest, TheBackgroundThreadSaves) {
  WriterOptions options;
  options.uri = kUri;
  CheckpointWriter writer(files_, Clock::Real(), options, nullptr);
  const State state7 = StateAt(7);
  ASSERT_TRUE(writer.Begin(Share(state7, 7, 0, 1, 1, false)).ok());
  ASSERT_TRUE(writer.WaitIdle(Clock::Real().Monotonic() + kPatience).ok());
  EXPECT_EQ(NewestStep(), 7);
}

TEST_F(WriterTest, MemoryIsReadyBeforeTheFirstSaveThatIsExpected) {
  const auto writer = Make();
  EXPECT_FALSE(writer->RunOnce());
  writer->Expect(size_t{48} << 20);
  EXPECT_FALSE(writer->busy());
  int pieces = 0;
  while (writer->RunOnce()) ++pieces;
  EXPECT_GE(pieces, 48 / 16);
  writer->Expect(size_t{48} << 20);
  EXPECT_FALSE(writer->RunOnce());
  const State state7 = StateAt(7);
  ASSERT_TRUE(writer->Begin(Share(state7, 7, 0, 1, 1, false)).ok());
  while (writer->RunOnce()) {
  }
  EXPECT_EQ(NewestStep(), 7);
}

TEST_F(WriterTest, ASaveDoesNotWaitForAllTheMemoryToBeReady) {
  const auto writer = Make();
  writer->Expect(size_t{48} << 20);
  EXPECT_TRUE(writer->RunOnce());
  const State state7 = StateAt(7);
  ASSERT_TRUE(writer->Begin(Share(state7, 7, 0, 1, 1, false)).ok());
  while (writer->RunOnce()) {
  }
  EXPECT_EQ(NewestStep(), 7);
}

TEST(AssignWritersTest, BalancesBytes) {
  const std::vector<uint64_t> bytes = {100, 10, 10, 10, 60, 40};
  const std::vector<int> owner = AssignWriters(bytes, 2);
  uint64_t load[2] = {0, 0};
  for (size_t i = 0; i < bytes.size(); ++i) load[owner[i]] += bytes[i];
  EXPECT_EQ(load[0] + load[1], 230u);
  EXPECT_LE(load[0] > load[1] ? load[0] - load[1] : load[1] - load[0], 10u);
}

// The checksums are made of what is written, so that a save takes no second pass over it.
TEST_F(WriterTest, PruningReadsNothingBackOfTheTensors) {
  CountingFiles counted(files_, ".safetensors");
  for (int64_t step = 1; step <= 4; ++step) {
    WriterOptions options;
    options.uri = kUri;
    options.start_thread = false;
    CheckpointWriter writer(counted, clock_, options, nullptr);
    const State state = StateAt(step);
    ASSERT_TRUE(writer.Begin(Share(state, step, 0, 1, 1, false)).ok());
    while (writer.RunOnce()) {
    }
  }
  EXPECT_EQ(counted.TakeCount(), 0u);
  EXPECT_EQ(Names(), (Strings{"step-000000003", "step-000000004"}));
}

TEST(CollectTimeTest, GrowsWithTheShareAndWithTheSlownessOfTheStore) {
  constexpr uint64_t kGigabyte = 1'000'000'000;
  EXPECT_EQ(CollectTime(kGigabyte, kGigabyte, absl::Seconds(5)), absl::Seconds(20));
  EXPECT_EQ(CollectTime(kGigabyte, kGigabyte, absl::Seconds(100)), absl::Seconds(400));
  EXPECT_EQ(CollectTime(12 * kGigabyte, kGigabyte, absl::Seconds(100)), absl::Seconds(4800))
      << "eighty minutes, where ten were all";
  EXPECT_EQ(CollectTime(kGigabyte, 1000, absl::Microseconds(1)), absl::Seconds(20))
      << "a cache took it";
  EXPECT_EQ(CollectTime(kGigabyte, 0, absl::ZeroDuration()), absl::Seconds(20));
  EXPECT_EQ(CollectTime(0, 0, absl::ZeroDuration()), absl::ZeroDuration());
}

TEST_F(WriterTest, ASlowStoresWritersAreWaitedForInProportion) {
  const State state = StateAt(1);
  auto zero = Make(absl::Seconds(10));
  Snapshot snapshot = Share(state, 1, 0, 2, 1, false);
  snapshot.largest_share = 200 * CopyBytes(snapshot.tensors);
  ASSERT_TRUE(zero->Begin(snapshot).ok());
  files_.SetFault([&](MemoryFiles::Operation operation, const std::string&) {
    if (operation == MemoryFiles::Operation::kCreate) clock_.Advance(absl::Seconds(1));
    return absl::OkStatus();
  });
  EXPECT_TRUE(zero->RunOnce());
  files_.SetFault(nullptr);
  clock_.Advance(absl::Minutes(11));
  EXPECT_FALSE(zero->RunOnce()) << "its share took two seconds, and another is 200 times as large";
  clock_.Advance(absl::Minutes(20));
  EXPECT_TRUE(zero->RunOnce());
  EXPECT_TRUE(absl::StrContains(reports_.back().error(), "writers 1 have not written"))
      << reports_.back().error();
}

// The directory that has the name may be all that the job has: status.checkpoint names it.
TEST_F(WriterTest, AStepSavedAgainCountsAtEveryMoment) {
  for (const bool refuses : {false, true}) {
    if (refuses) files_.RefuseExchange();
    for (const int64_t attempt : {1, 2}) {
      int written = 0;
      for (int64_t death = 0; death < 60; ++death) {
        ASSERT_TRUE(RemoveAll(files_, kUri).ok());
        Save(1);
        Save(2);
        const State state = StateAt(2);
        auto writer = Make();
        Snapshot snapshot = Share(state, 2, 0, 1, /*round=*/2, false);
        snapshot.run.attempt = attempt;
        files_.KillAfter(death);
        EXPECT_TRUE(writer->Begin(snapshot).ok());
        while (writer->RunOnce()) {
        }
        written += reports_.back().phase() == CheckpointReport::WRITTEN;
        files_.KillAfter(-1);
        EXPECT_EQ(NewestStep(), 2) << "death at change " << death << ", attempt " << attempt
                                   << (refuses ? ", on NFS" : "");
      }
      EXPECT_GT(written, 0);
      EXPECT_EQ(Save(3, 1, false, /*round=*/3).phase(), CheckpointReport::WRITTEN);
      EXPECT_EQ(NewestStep(), 3);
    }
  }
}

}  // namespace
}  // namespace muster::trainer
