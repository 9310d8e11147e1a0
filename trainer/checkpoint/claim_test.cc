#include "trainer/checkpoint/claim.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/random_name.h"
#include "base/testing/memory_files.h"
#include "base/testing/without_privileges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

using ::testing::HasSubstr;

constexpr char kUri[] = "/ck";
constexpr char kOwnerFile[] = "/ck/claim/owner.json";

class ClaimTest : public testing::Test {
 protected:
  absl::Status Claim(const std::string& job, const std::string& uid,
                     Takeover takeover = Takeover::kFromEarlierJob) {
    return ClaimCheckpoints(files_, kUri, {job, uid}, takeover);
  }
  void WriteCheckpoint(const std::string& job) {
    const std::string manifest = R"({"run":{"step":20,"job":")" + job + R"("},"files":[]})";
    ASSERT_TRUE(files_.MakeDirectories("/ck/step-000000020").ok());
    ASSERT_TRUE(WriteFileAtomically(files_, "/ck/step-000000020/manifest.json", manifest).ok());
    ASSERT_TRUE(
        WriteFileAtomically(files_, "/ck/step-000000020/DONE", CheckpointDoneContents(manifest))
            .ok());
  }
  MemoryFiles files_;
};

TEST_F(ClaimTest, EveryRankOfAJobClaimsAndTheDirectoryIsMade) {
  EXPECT_TRUE(Claim("default/a", "1").ok());
  EXPECT_TRUE(Claim("default/a", "1").ok());
  EXPECT_TRUE(Claim("default/a", "1", Takeover::kNever).ok());
  EXPECT_TRUE(ListCheckpoints(files_, kUri)->empty()) << "a claim is no checkpoint";
}

TEST_F(ClaimTest, AnotherJobIsRefusedWithTheNameOfTheOwner) {
  ASSERT_TRUE(Claim("default/a", "1").ok());
  const absl::Status refused = Claim("default/b", "2");
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("/ck: holds the checkpoints of job default/a"));
  EXPECT_TRUE(Claim("default/a", "1", Takeover::kNever).ok());
}

TEST_F(ClaimTest, ANewJobOfTheSameNameTakesOverAndTheOldOneSavesNoMore) {
  ASSERT_TRUE(Claim("default/a", "1").ok());
  EXPECT_TRUE(Claim("default/a", "2").ok());
  const absl::Status old = Claim("default/a", "1", Takeover::kNever);
  EXPECT_TRUE(absl::IsAlreadyExists(old)) << old;
  EXPECT_THAT(old.message(), HasSubstr("was taken over by a newer job"));
}

TEST_F(ClaimTest, CheckpointsOfAnotherJobClaimTheirDirectory) {
  WriteCheckpoint("default/a");
  EXPECT_THAT(Claim("default/b", "2").message(), HasSubstr("job default/a"));
  EXPECT_TRUE(Claim("default/a", "3").ok());
}

TEST_F(ClaimTest, OlderCheckpointsNameTheirJobWithoutItsNamespace) {
  WriteCheckpoint("a");
  EXPECT_TRUE(Claim("default/a", "3").ok());
  EXPECT_FALSE(Claim("default/aa", "4").ok());
}

TEST_F(ClaimTest, AFileInPlaceOfTheDirectoryIsRefused) {
  ASSERT_TRUE(WriteFileAtomically(files_, kUri, "in the way").ok());
  const absl::Status refused = Claim("default/a", "1");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("/ck: is a file, not a directory"));
}

TEST_F(ClaimTest, AClaimThatCannotBeWrittenFailsAndLeavesNothing) {
  ASSERT_TRUE(files_.MakeDirectories(kUri).ok());
  files_.SetFault([](MemoryFiles::Operation operation, const std::string& path) {
    return operation == MemoryFiles::Operation::kCreate
               ? absl::PermissionDeniedError(path + ": read-only file system")
               : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsPermissionDenied(Claim("default/a", "1")));
  EXPECT_TRUE(files_.List(kUri)->empty());
}

TEST_F(ClaimTest, ADirectoryThatBecameReadOnlyIsFoundInSpiteOfItsClaim) {
  ASSERT_TRUE(Claim("default/a", "1").ok());
  EXPECT_TRUE(CheckWritable(files_, kUri).ok());
  EXPECT_EQ(files_.List(kUri)->size(), 1u) << "the probe is left";
  files_.SetFault([](MemoryFiles::Operation operation, const std::string& path) {
    return operation == MemoryFiles::Operation::kMakeDirectory
               ? absl::PermissionDeniedError(path + ": read-only file system")
               : absl::OkStatus();
  });
  EXPECT_TRUE(Claim("default/a", "1").ok()) << "who reads a claim writes nothing";
  EXPECT_TRUE(absl::IsPermissionDenied(CheckWritable(files_, kUri)));
  files_.SetFault(nullptr);
  ASSERT_TRUE(RemoveAll(files_, kUri).ok());
  EXPECT_TRUE(absl::IsNotFound(CheckWritable(files_, kUri))) << "made what is not mounted";
}

// Whenever a process dies, the next one finds no claim or a whole one.
TEST_F(ClaimTest, WhatKilledProcessesHaveLeftIsRemovedWhenARoundBegins) {
  ASSERT_TRUE(Claim("default/a", "1").ok());
  ASSERT_TRUE(files_.MakeDirectories("/ck/.claim-0123456789abcdef").ok());
  ASSERT_TRUE(WriteFileAtomically(files_, "/ck/.claim-0123456789abcdef/owner.json", "{}").ok());
  ASSERT_TRUE(files_.MakeDirectories("/ck/.probe-0123456789abcdef").ok());
  ASSERT_TRUE(files_.MakeDirectories("/ck/.of-a-user").ok());
  ASSERT_TRUE(CheckWritable(files_, kUri).ok());
  std::string names;
  const auto entries = files_.List(kUri);
  ASSERT_TRUE(entries.ok());
  for (const DirectoryEntry& entry : *entries) names += entry.name + " ";
  EXPECT_EQ(names, ".of-a-user claim ");
}

TEST(ClaimOnDiskTest, ALinkInADraftOfSomebodyElseDoesNotLeadTheSweepElsewhere) {
  const std::string root = absl::StrCat(testing::TempDir(), "/claim.", RandomName());
  const std::string draft = root + "/shared/.claim-0123456789abcdef";
  ASSERT_TRUE(FileSystem().MakeDirectories(draft).ok());
  ASSERT_TRUE(FileSystem().MakeDirectories(root + "/target").ok());
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), root + "/target/thesis", "years").ok());
  ASSERT_EQ(symlink((root + "/target").c_str(), (draft + "/x").c_str()), 0);
  ASSERT_EQ(chmod(draft.c_str(), 0555), 0);
  WithoutPrivileges([&] { EXPECT_TRUE(CheckWritable(FileSystem(), root + "/shared").ok()); });
  EXPECT_TRUE(Exists(FileSystem(), root + "/target/thesis"));
}

TEST_F(ClaimTest, ACrashAtAnyMomentLeavesNoHalfAClaim) {
  for (int changes = 0; changes < 20; ++changes) {
    MemoryFiles files;
    files.KillAfter(changes);
    const absl::Status first =
        ClaimCheckpoints(files, kUri, {"default/a", "1"}, Takeover::kFromEarlierJob);
    files.KillAfter(-1);
    const absl::Status second =
        ClaimCheckpoints(files, kUri, {"default/b", "2"}, Takeover::kFromEarlierJob);
    const bool owned = ReadFile(files, kOwnerFile)->find("default/a") != std::string::npos;
    EXPECT_EQ(second.ok(), !owned) << changes << " " << second;
    if (first.ok()) {
      EXPECT_TRUE(owned) << changes;
    }
  }
}

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
