#include "operator/scheduler/record/decision_ring.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files/files.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/wal_format.h"
#include "operator/queue/record/decision_record.h"
#include "operator/scheduler/record/decision_ring_fixture.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records which files were opened.
class WatchedFiles final : public Files {
 public:
  absl::StatusOr<FileInfo> Stat(const std::string& path) override { return in_.Stat(path); }
  absl::StatusOr<std::vector<DirectoryEntry>> List(const std::string& path) override {
    return in_.List(path);
  }
  absl::StatusOr<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    opened_.push_back(BaseName(path));
    return in_.Open(path);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    opened_.push_back(BaseName(path));
    return in_.Map(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       CreateMode mode) override {
    return in_.Create(path, mode);
  }
  absl::Status MakeDirectories(const std::string& path) override {
    return in_.MakeDirectories(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return in_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override { return in_.Remove(path); }
  absl::Status RemoveTree(const std::string& path, TreeOwner owner) override {
    return in_.RemoveTree(path, owner);
  }
  absl::Status CheckOwnDirectory(const std::string& path) override {
    return in_.CheckOwnDirectory(path);
  }
  absl::Status SyncDirectory(const std::string& path) override { return in_.SyncDirectory(path); }
  absl::StatusOr<uint64_t> FreeBytes(const std::string& path) override {
    return in_.FreeBytes(path);
  }
  MemoryFiles& in() { return in_; }
  std::vector<std::string> TakeOpened() { return std::exchange(opened_, {}); }

 private:
  MemoryFiles in_;
  std::vector<std::string> opened_;
};

std::string PathOf(uint64_t first) { return absl::StrFormat("%s/decisions-%016x", kFolder, first); }

// A record of version 1 with the id and an input that cannot be inflated.
std::string Uninflatable(char id) {
  return std::string("\x08\x01\x10", 3) + id + std::string("\x20\x05\x2a\x03xyz", 7);
}

std::string RecordOf(uint64_t id) {
  const DecisionInput input = InputOf(absl::StrCat("job-", id));
  return EncodeRecord(id, input, Replay(input));
}

// A ring with a file for every two records.
DecisionRing TwoEach(Files& files) {
  const uint64_t each = RecordOf(1).size() + kube::kWalHeaderBytes;
  return DecisionRing(files, kFolder, {.max_bytes = 8 * (2 * each + each / 2), .files = 8});
}

TEST(DecisionRingTest, FindingOneReadsItsFileAlone) {
  WatchedFiles files;
  DecisionRing ring = TwoEach(files);
  for (uint64_t id = 1; id <= 7; ++id) ASSERT_TRUE(ring.Add(id, RecordOf(id)).ok());
  files.TakeOpened();
  const auto found = FindDecision(files, kFolder, 4);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->input.snapshot.jobs[0].uid, "job-4");
  EXPECT_THAT(files.TakeOpened(), ElementsAre("decisions-0000000000000003"));
}

TEST(DecisionRingTest, StartingReadsTheLastFileAlone) {
  WatchedFiles files;
  DecisionRing ring = TwoEach(files);
  for (uint64_t id = 1; id <= 6; ++id) ASSERT_TRUE(ring.Add(id, RecordOf(id)).ok());
  files.TakeOpened();
  EXPECT_EQ(TwoEach(files).next_id(), 7u);
  EXPECT_THAT(files.TakeOpened(), ElementsAre("decisions-0000000000000005"));
}

TEST(DecisionRingTest, OnlyTheWantedDecisionIsInflated) {
  MemoryFiles files;
  DecisionRing ring(files, kFolder);
  ASSERT_TRUE(ring.Add(1, Uninflatable(1)).ok());
  ASSERT_TRUE(ring.Add(2, RecordOf(2)).ok());
  ASSERT_TRUE(ring.Add(3, Uninflatable(3)).ok());
  EXPECT_EQ(DecisionRing(files, kFolder).next_id(), 4u);
  EXPECT_EQ(FindDecision(files, kFolder, 2)->input.snapshot.jobs[0].uid, "job-2");
  EXPECT_EQ(FindDecision(files, kFolder, 9).status().message(),
            "there is no decision 9 in /state/decisions; it has 1 to 3");
  EXPECT_EQ(FindDecision(files, kFolder, 3).status().message(), "a decision's input is damaged");
}

// A crash has cut off the last file in its first record, and bad storage has changed a byte of the
// one before.
TEST(DecisionRingTest, WhatFollowsADamagedRecordIsLeftOut) {
  MemoryFiles files;
  DecisionRing ring = TwoEach(files);
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(ring.Add(id, RecordOf(id)).ok());
  ASSERT_TRUE(files.Overwrite(PathOf(5), ReadFile(files, PathOf(5)).value().substr(0, 20)).ok());
  std::string damaged = ReadFile(files, PathOf(3)).value();
  damaged.back() ^= 1;
  ASSERT_TRUE(files.Overwrite(PathOf(3), damaged).ok());
  EXPECT_THAT(IdsIn(files), ElementsAre(1, 2, 3));
  for (uint64_t id : {4, 5}) {
    EXPECT_EQ(FindDecision(files, kFolder, id).status().message(),
              absl::StrCat("there is no decision ", id, " in /state/decisions; it has 1 to 3"));
  }
  EXPECT_EQ(TwoEach(files).next_id(), 6u);
}

TEST(DecisionRingTest, ForAMissingDecisionTheNearestAreNamed) {
  MemoryFiles files;
  DecisionRing ring = TwoEach(files);
  for (uint64_t id : {2, 4, 8, 9}) ASSERT_TRUE(ring.Add(id, RecordOf(id)).ok());
  EXPECT_EQ(FindDecision(files, kFolder, 6).status().message(),
            "there is no decision 6 in /state/decisions; it has 2 to 9, the nearest are 4 and 8");
  EXPECT_EQ(FindDecision(files, kFolder, 1).status().message(),
            "there is no decision 1 in /state/decisions; it has 2 to 9");
}

TEST(DecisionRingTest, ARecordOfAnotherVersionIsRefused) {
  MemoryFiles files;
  DecisionRing ring(files, kFolder);
  ASSERT_TRUE(ring.Add(1, std::string("\x08\x63\x10\x01", 4)).ok());  // version 99, id 1
  EXPECT_EQ(FindDecision(files, kFolder, 1).status().message(),
            "the record is of version 99; this muster reads version 1");
  EXPECT_THAT(std::string(ring.Add(2, std::string(64 << 20, 'x')).message()),
              HasSubstr("is too large to keep"));
}

}  // namespace
}  // namespace muster::control
