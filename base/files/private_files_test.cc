#include "base/files/private_files.h"

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

unsigned ModeOf(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class PrivateFilesTest : public testing::Test {
 protected:
  PrivateFilesTest() : root_(JoinPath(testing::TempDir(), "private")), umask_(::umask(0)) {
    EXPECT_TRUE(RemoveAll(FileSystem(), root_).ok());
    EXPECT_TRUE(FileSystem().MakeDirectories(root_).ok());
  }
  ~PrivateFilesTest() override { ::umask(umask_); }

  Files& files_ = PrivateFileSystem();
  const std::string root_;
  const mode_t umask_;
};

TEST_F(PrivateFilesTest, NewFilesAndDirectoriesAreForThisUserAlone) {
  ASSERT_TRUE(files_.MakeDirectories(root_ + "/a/b").ok());
  EXPECT_EQ(ModeOf(root_ + "/a"), 0700u);
  EXPECT_EQ(ModeOf(root_ + "/a/b"), 0700u);
  for (const CreateMode mode :
       {CreateMode::kTruncate, CreateMode::kExclusive, CreateMode::kAppend}) {
    const std::string path = root_ + "/a/" + std::to_string(static_cast<int>(mode));
    auto file = files_.Create(path, mode);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->Append("x").ok());
    EXPECT_TRUE((*file)->Close().ok());
    EXPECT_EQ(ModeOf(path), 0600u);
    EXPECT_EQ(ReadFile(files_, path).value_or(""), "x");
  }
  ASSERT_TRUE(WriteFileAtomically(files_, root_ + "/whole", "y").ok());
  EXPECT_EQ(ModeOf(root_ + "/whole"), 0600u);
  ASSERT_TRUE(CreateExclusive(files_, root_ + "/once", "z").ok());
  EXPECT_EQ(ModeOf(root_ + "/once"), 0600u);
}

TEST_F(PrivateFilesTest, ExistingFilesKeepTheirMode) {
  const std::string path = root_ + "/there";
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), path, "old").ok());
  const unsigned mode = ModeOf(path);
  EXPECT_EQ(files_.Create(path, CreateMode::kExclusive).status().code(),
            absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE((*files_.Create(path, CreateMode::kAppend))->Append("er").ok());
  EXPECT_EQ(ReadFile(files_, path).value_or(""), "older");
  EXPECT_EQ(ModeOf(path), mode);
  EXPECT_TRUE(files_.MakeDirectories(root_).ok());
  EXPECT_EQ(files_.Create(root_ + "/no/file", CreateMode::kAppend).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_FALSE(files_.MakeDirectories(path + "/below").ok());
}

}  // namespace
}  // namespace muster
