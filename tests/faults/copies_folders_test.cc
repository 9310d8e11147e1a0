#include "tests/faults/copies_folders.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/random_name.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::tests {
namespace {

using ::testing::ElementsAre;

UniqueFd Open(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// An agent opens the folder of the job's copies on disk, too, while it lists or synchronises it.
TEST(CopiesFoldersTest, AFolderOnDiskThatTheAgentHasOpenIsNone) {
  const std::string memory = absl::StrCat("/dev/shm/muster-copies-", RandomName());
  const std::string disk = absl::StrCat(testing::TempDir(), "/muster-copies-job");
  ASSERT_TRUE(FileSystem().MakeDirectories(memory).ok());
  ASSERT_TRUE(FileSystem().MakeDirectories(disk).ok());
  const UniqueFd in_memory = Open(memory);
  const UniqueFd on_disk = Open(disk);
  ASSERT_GE(in_memory.get(), 0);
  ASSERT_GE(on_disk.get(), 0);
  EXPECT_THAT(CopiesFolders({getpid()}), ElementsAre(memory));
  EXPECT_TRUE(RemoveAll(FileSystem(), memory).ok());
}

}  // namespace
}  // namespace muster::tests
