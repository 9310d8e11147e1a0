// Holds every implementation of StateFiles to its contract, and the real one to what it leaves in
// the directory.

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/offload/directory_state_files.h"
#include "trainer/offload/memory_state_files.h"

namespace muster::trainer {
namespace {

std::string Directory(const std::string& name) {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string directory = absl::StrCat(root == nullptr ? "/tmp" : root, "/", name);
  EXPECT_TRUE(RemoveAll(FileSystem(), directory).ok());
  return directory;
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  const auto entries = FileSystem().List(directory);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

std::vector<std::byte> Bytes(size_t size, int first) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((static_cast<size_t>(first) + 7 * i) % 251);
  }
  return bytes;
}

struct Implementation {
  std::string name;
  std::function<std::unique_ptr<StateFiles>()> make;
};

class StateFilesTest : public testing::TestWithParam<Implementation> {
 protected:
  std::unique_ptr<StateFile> Create(uint64_t size) {
    auto file = files_->Create(Directory("conformance"), size);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  const std::unique_ptr<StateFiles> files_ = GetParam().make();
};

TEST_P(StateFilesTest, AFileBeginsWithZerosAndKeepsWhatIsWrittenWhereItIsWritten) {
  const auto file = Create(100'000);
  EXPECT_EQ(file->size(), 100'000u);
  std::vector<std::byte> read(100'000, std::byte{1});
  ASSERT_TRUE(file->Read(0, read).ok());
  EXPECT_EQ(read, std::vector<std::byte>(100'000));
  const std::vector<std::byte> first = Bytes(40'000, 3), second = Bytes(10, 5);
  ASSERT_TRUE(file->Write(60'000, first).ok());
  ASSERT_TRUE(file->Write(0, second).ok());
  std::vector<std::byte> tail(40'000), head(10), between(59'990, std::byte{1});
  ASSERT_TRUE(file->Read(60'000, tail).ok());
  ASSERT_TRUE(file->Read(0, head).ok());
  ASSERT_TRUE(file->Read(10, between).ok());
  EXPECT_EQ(tail, first);
  EXPECT_EQ(head, second);
  EXPECT_EQ(between, std::vector<std::byte>(59'990));
}

TEST_P(StateFilesTest, BeyondTheEndNothingIsReadOrWritten) {
  const auto file = Create(100);
  std::vector<std::byte> bytes = Bytes(60, 1), all(100);
  for (const uint64_t offset : {uint64_t{41}, uint64_t{101}, UINT64_MAX}) {
    EXPECT_EQ(file->Read(offset, bytes).code(), absl::StatusCode::kOutOfRange) << offset;
    EXPECT_EQ(file->Write(offset, bytes).code(), absl::StatusCode::kOutOfRange) << offset;
  }
  ASSERT_TRUE(file->Read(0, all).ok());
  EXPECT_EQ(all, std::vector<std::byte>(100));
  EXPECT_TRUE(Create(0)->Read(0, {}).ok());
}

TEST_P(StateFilesTest, TwoFilesAreIndependent) {
  const auto one = Create(64), other = Create(64);
  const std::vector<std::byte> bytes = Bytes(64, 9);
  ASSERT_TRUE(one->Write(0, bytes).ok());
  std::vector<std::byte> read(64, std::byte{1});
  ASSERT_TRUE(other->Read(0, read).ok());
  EXPECT_EQ(read, std::vector<std::byte>(64));
}

TEST_P(StateFilesTest, MoreThanTheDiskHasIsRefused) {
  if (auto* memory = dynamic_cast<MemoryStateFiles*>(files_.get())) memory->SetCapacity(1000);
  const auto file = files_->Create(Directory("conformance"), uint64_t{1} << 60);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kResourceExhausted) << file.status();
  EXPECT_TRUE(absl::StrContains(file.status().message(), "1152921504606846976 bytes are needed"))
      << file.status();
}

INSTANTIATE_TEST_SUITE_P(
    All, StateFilesTest,
    testing::Values(
        Implementation{"Unnamed",
                       [] { return std::make_unique<DirectoryStateFiles>(FileSystem()); }},
        Implementation{"Named",
                       [] { return std::make_unique<DirectoryStateFiles>(FileSystem(), false); }},
        Implementation{"Memory", [] { return std::make_unique<MemoryStateFiles>(); }}),
    [](const auto& tested) { return tested.param.name; });

TEST(DirectoryStateFilesTest, NothingIsLeftInTheDirectoryEvenWhileTheFileIsInUse) {
  for (const bool unnamed : {true, false}) {
    DirectoryStateFiles files(FileSystem(), unnamed);
    const std::string directory = Directory("unnamed");
    const auto file = files.Create(directory, 5000);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(NamesIn(directory), std::vector<std::string>());
  }
}

TEST(DirectoryStateFilesTest, LeftoversOfAKilledProcessGoAndOtherFilesStay) {
  const std::string directory = Directory("leftovers");
  ASSERT_TRUE(FileSystem().MakeDirectories(directory).ok());
  for (const char* name : {"muster-offload-a1b2c3", "of-somebody-else"}) {
    ASSERT_TRUE(CreateExclusive(FileSystem(), JoinPath(directory, name), "x").ok());
  }
  DirectoryStateFiles files(FileSystem());
  ASSERT_TRUE(files.Create(directory, 10).ok());
  EXPECT_EQ(NamesIn(directory), std::vector<std::string>{"of-somebody-else"});
}

TEST(DirectoryStateFilesTest, AFullDiskIsRefusedByTheFieldWithWhatIsNeededAndAvailable) {
  const std::string directory = Directory("small");
  ASSERT_TRUE(FileSystem().MakeDirectories(directory).ok());
  if (mount("none", directory.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "only root can mount a small disk";
  }
  DirectoryStateFiles files(FileSystem());
  {
    const auto fits = files.Create(directory, 600'000);
    ASSERT_TRUE(fits.ok()) << fits.status();
    const auto full = files.Create(directory, 600'000);
    EXPECT_EQ(full.status().message(),
              absl::StrCat("trainer.parallelism.offload.directory: ", directory,
                           " has no room: 600000 bytes are needed for two generations of a rank's "
                           "offloaded state, and 446464 are available: free some, or set another "
                           "directory"));
  }
  EXPECT_TRUE(files.Create(directory, 1'000'000).ok()) << "the room of an ended file is free";
  umount(directory.c_str());
}

TEST(DirectoryStateFilesTest, ADirectoryThatCannotBeMadeIsNamed) {
  const std::string file = Directory("a-file");
  ASSERT_TRUE(CreateExclusive(FileSystem(), file, "x").ok());
  DirectoryStateFiles files(FileSystem());
  const absl::Status status = files.Create(JoinPath(file, "below"), 10).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(status.message(), file)) << status;
}

}  // namespace
}  // namespace muster::trainer
