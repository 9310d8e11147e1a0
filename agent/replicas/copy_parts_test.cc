#include "agent/replicas/copy_parts.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/replicas/copy_fixture.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/testing/memory_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1alpha1::ReplicaPart;

constexpr char kFolder[] = "/memory/replicas";

class CopyPartsTest : public testing::Test {
 protected:
  CopyPartsTest() : parts_(PartsOf(files_, WriteCopy(files_, "/memory/rank-0", 20, bytes_), 1)) {
    EXPECT_TRUE(files_.MakeDirectories(kFolder).ok());
  }

  absl::Status Receive(const std::vector<ReplicaPart>& parts) {
    auto receiver = CopyReceiver::Begin(files_, kJobUid, parts.at(0).head(), kFolder);
    if (!receiver.ok()) return receiver.status();
    for (size_t i = 1; i < parts.size(); ++i) {
      const absl::Status taken = (*receiver)->Take(parts[i]);
      if (!taken.ok()) return taken;
    }
    return (*receiver)->complete() ? absl::OkStatus() : absl::AbortedError("cut");
  }
  std::vector<std::string> Received() {
    std::vector<std::string> names;
    const auto entries = files_.List(kFolder);
    EXPECT_TRUE(entries.ok());
    for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  // Returns the part with the name of that file.
  ReplicaPart& PartOf(const std::string& file) {
    for (ReplicaPart& part : parts_) {
      if (part.has_file() && part.file().name() == file) return part;
    }
    return parts_.front();
  }

  const std::string bytes_ = std::string(3 * kPartBytes / 2, 'x') + "end";
  MemoryFiles files_;
  std::vector<ReplicaPart> parts_;
};

TEST_F(CopyPartsTest, ACopyArrivesAsItWasSent) {
  ASSERT_TRUE(Receive(parts_).ok());
  EXPECT_THAT(Received(), testing::ElementsAre("step-000000020"));
  const std::string path = JoinPath(kFolder, "step-000000020");
  EXPECT_TRUE(InspectCheckpoint(files_, path).complete);
  EXPECT_EQ(StateIn(files_, path), bytes_);
}

TEST_F(CopyPartsTest, AStreamThatIsCutAnywhereLeavesNothing) {
  for (size_t size = 1; size < parts_.size(); ++size) {
    EXPECT_FALSE(Receive({parts_.begin(), parts_.begin() + size}).ok()) << size;
    EXPECT_THAT(Received(), IsEmpty()) << size;
  }
}

TEST_F(CopyPartsTest, ACopyWhoseBytesHaveChangedIsRefused) {
  for (ReplicaPart& part : parts_) {
    if (part.has_data() && part.data().front() == 'x') part.mutable_data()->front() = 'y';
  }
  const absl::Status refused = Receive(parts_);
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("state.safetensors has not the bytes"));
  EXPECT_THAT(Received(), IsEmpty());
}

TEST_F(CopyPartsTest, ACopyOfAnotherJobIsRefused) {
  const auto parts =
      PartsOf(files_, WriteCopy(files_, "/memory/rank-1", 20, bytes_, "other-uid"), 1);
  const absl::Status refused = Receive(parts);
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(Received(), IsEmpty());
}

TEST_F(CopyPartsTest, NamesThatLeaveTheDirectoryAreRefused) {
  for (const char* name : {"../DONE", "a/b", "..", ".hidden", "", "a\nb"}) {
    std::vector<ReplicaPart> parts = parts_;
    for (ReplicaPart& part : parts) {
      if (part.has_file() && part.file().name() == "DONE") part.mutable_file()->set_name(name);
    }
    EXPECT_TRUE(absl::IsInvalidArgument(Receive(parts))) << name;
    EXPECT_THAT(Received(), IsEmpty());
  }
  for (const char* directory : {"..", "step-1", "step-000000020.r1", "/step-000000020"}) {
    parts_[0].mutable_head()->set_directory(directory);
    EXPECT_TRUE(absl::IsInvalidArgument(Receive(parts_))) << directory;
  }
}

TEST_F(CopyPartsTest, MoreBytesThanTheHeadAnnouncedAreRefused) {
  parts_[0].mutable_head()->set_bytes(100);
  const absl::Status refused = Receive(parts_);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(Received(), IsEmpty());
}

TEST_F(CopyPartsTest, AFileThatItsManifestDoesNotNameIsRefused) {
  ReplicaPart file;
  file.mutable_file()->set_name("zzz");
  parts_.insert(parts_.end() - 1, file);
  const absl::Status refused = Receive(parts_);
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
}

TEST_F(CopyPartsTest, ACopyThatIsRemovedMeanwhileEndsItsStream) {
  const std::string path = WriteCopy(files_, "/memory/rank-2", 30, bytes_);
  int parts = 0;
  const absl::Status sent = SendCopy(files_, path, WorkerNamed(1), 0, [&](const ReplicaPart& part) {
    ++parts;
    if (part.has_data()) EXPECT_TRUE(RemoveAll(files_, path).ok());
    return absl::OkStatus();
  });
  EXPECT_FALSE(sent.ok());
  EXPECT_LT(parts, static_cast<int>(parts_.size()));
}

TEST_F(CopyPartsTest, ANewerCopyOfTheSameStepTakesThePlaceOfTheOlder) {
  ASSERT_TRUE(Receive(parts_).ok());
  ASSERT_TRUE(Receive(PartsOf(files_, WriteCopy(files_, "/memory/rank-3", 20, "redone"), 1)).ok());
  EXPECT_EQ(StateIn(files_, JoinPath(kFolder, "step-000000020")), "redone");
}

TEST_F(CopyPartsTest, ACopyThatCannotTakeItsPlaceLeavesTheEarlierOneThere) {
  ASSERT_TRUE(Receive(parts_).ok());
  const auto newer = PartsOf(files_, WriteCopy(files_, "/memory/rank-3", 20, "redone"), 1);
  const std::string place = JoinPath(kFolder, "step-000000020");
  files_.SetFault([&](MemoryFiles::Operation operation, const std::string& path) {
    const bool places = operation == MemoryFiles::Operation::kRename && path != place &&
                        BaseName(path) == "step-000000020";
    return places ? absl::UnavailableError("not now") : absl::OkStatus();
  });
  EXPECT_FALSE(Receive(newer).ok());
  files_.SetFault(nullptr);
  EXPECT_THAT(Received(), testing::ElementsAre("step-000000020"));
  EXPECT_EQ(StateIn(files_, place), bytes_);
}

}  // namespace
}  // namespace muster::agent
