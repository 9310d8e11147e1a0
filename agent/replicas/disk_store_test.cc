#include "agent/replicas/disk_store.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/replicas/copy_fixture.h"
#include "base/files/files.h"
#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kOwnFolder[] = "/disk/muster-copies-job-uid/worker-1/rank-0";

class DiskStoreTest : public testing::Test {
 protected:
  DiskStore Store(int index = 1, const std::string& job_uid = kJobUid) {
    DiskStore store({.folder = "/disk", .worker = WorkerNamed(index, job_uid), .ranks = 2}, disk_,
                    memory_, clock_);
    EXPECT_TRUE(store.Open().ok());
    return store;
  }
  absl::Status Keep(DiskStore& store, int rank, int64_t step,
                    const std::string& job_uid = kJobUid) {
    const std::string folder = absl::StrCat("/memory/", ++written_);
    return store.Keep(WriteCopy(memory_, folder, step, "state", job_uid), rank,
                      [] { return absl::OkStatus(); });
  }
  std::vector<std::string> NamesOf(const DiskStore& store, int worker) {
    std::vector<std::string> names;
    for (const DiskStore::Replica& copy : store.Of(worker)) {
      names.push_back(absl::StrCat(copy.local_rank, "/", BaseName(copy.path)));
    }
    return names;
  }

  MemoryFiles disk_, memory_;
  ManualClock clock_;
  int written_ = 0;
};

TEST_F(DiskStoreTest, KeepsTheTwoNewestOfEachRankForTheNextAgent) {
  {
    DiskStore store = Store();
    for (const int64_t step : {10, 20, 30}) {
      for (const int rank : {0, 1}) ASSERT_TRUE(Keep(store, rank, step).ok());
    }
  }
  const DiskStore next = Store();
  EXPECT_THAT(NamesOf(next, 1), ElementsAre("0/step-000000030", "1/step-000000030",
                                            "0/step-000000020", "1/step-000000020"));
  EXPECT_THAT(next.Workers(), ElementsAre(1));
  EXPECT_THAT(NamesOf(next, 2), IsEmpty());
}

TEST_F(DiskStoreTest, AgentsOfOneNodeSeeEachOthersCopies) {
  DiskStore one = Store(1), two = Store(12);
  ASSERT_TRUE(Keep(one, 0, 10).ok());
  ASSERT_TRUE(Keep(two, 0, 10).ok());
  EXPECT_THAT(one.Workers(), ElementsAre(1, 12));
  EXPECT_THAT(NamesOf(one, 12), ElementsAre("0/step-000000010"));
}

TEST_F(DiskStoreTest, WhatItKeepsSurvivesACrashOfTheMachine) {
  ASSERT_TRUE(disk_.MakeDirectories("/disk").ok());
  ASSERT_TRUE(disk_.SyncDirectory("/").ok());
  DiskStore store = Store();
  ASSERT_TRUE(Keep(store, 0, 10).ok());
  disk_.Crash();
  EXPECT_THAT(NamesOf(Store(), 1), ElementsAre("0/step-000000010"));
}

TEST_F(DiskStoreTest, HalfACopyIsNeverOfferedAndRemovedByTheNextAgent) {
  DiskStore store = Store();
  ASSERT_TRUE(Keep(store, 0, 10).ok());
  const std::string half = absl::StrCat(kOwnFolder, "/", kArrivingPrefix, "0/step-000000020");
  ASSERT_TRUE(disk_.MakeDirectories(half).ok());
  ASSERT_TRUE(disk_.MakeDirectories(absl::StrCat(kOwnFolder, "/step-000000030")).ok());
  EXPECT_THAT(NamesOf(store, 1), ElementsAre("0/step-000000010"));
  Store();
  EXPECT_FALSE(Exists(disk_, ParentPath(half)));
}

TEST_F(DiskStoreTest, AFullDiskKeepsWhatIsThere) {
  DiskStore store = Store();
  ASSERT_TRUE(Keep(store, 0, 10).ok());
  disk_.SetCapacity(1);
  EXPECT_TRUE(absl::IsResourceExhausted(Keep(store, 0, 20)));
  EXPECT_THAT(NamesOf(store, 1), ElementsAre("0/step-000000010"));
}

TEST_F(DiskStoreTest, FoldersOfJobsThatAreNotUsedForAWeekAreRemovedAndNothingElse) {
  {
    DiskStore other = Store(1, "other-uid");
    ASSERT_TRUE(Keep(other, 0, 10, "other-uid").ok());
  }
  for (const char* path : {"/disk/data", "/disk/muster-copies-of-somebody"}) {
    ASSERT_TRUE(disk_.MakeDirectories(path).ok());
  }
  clock_.Advance(absl::Hours(24 * 7) - absl::Seconds(2));
  Store();
  EXPECT_TRUE(Exists(disk_, "/disk/muster-copies-other-uid/USED"));
  clock_.Advance(absl::Seconds(2));
  Store();
  EXPECT_FALSE(Exists(disk_, "/disk/muster-copies-other-uid"));
  EXPECT_TRUE(Exists(disk_, "/disk/data"));
  EXPECT_TRUE(Exists(disk_, "/disk/muster-copies-of-somebody")) << "it does not say when";
}

TEST_F(DiskStoreTest, TheFolderOfAJobThatHasEndedIsRemovedAndNothingElse) {
  DiskStore one = Store(1), two = Store(12), other = Store(1, "other-uid");
  ASSERT_TRUE(Keep(one, 0, 10).ok());
  ASSERT_TRUE(Keep(other, 0, 10, "other-uid").ok());
  one.RemoveJob();
  EXPECT_FALSE(Exists(disk_, "/disk/muster-copies-job-uid"));
  ASSERT_TRUE(Keep(two, 0, 10).ok()) << "it has not heard of the end";
  two.RemoveJob();
  EXPECT_FALSE(Exists(disk_, "/disk/muster-copies-job-uid"));
  EXPECT_THAT(NamesOf(other, 1), ElementsAre("0/step-000000010"));
}

}  // namespace
}  // namespace muster::agent
