#include "base/files/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/files/private_files.h"
#include "base/random_name.h"
#include "base/testing/files_contract.h"
#include "base/testing/memory_files.h"
#include "base/testing/memory_objects.h"
#include "base/testing/without_privileges.h"

namespace muster {
namespace {

std::string ScratchFolder(const char* name) {
  const char* base = std::getenv("TEST_TMPDIR");
  return absl::StrCat(base == nullptr ? "/tmp" : base, "/", name, ".", RandomName());
}

// Every test of this suite, which is about what object stores do not promise, runs on the real file
// system and on the one in memory.
class FilesTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      files_ = &FileSystem();
      root_ = ScratchFolder("files_test");
    } else {
      memory_ = std::make_unique<MemoryFiles>();
      files_ = memory_.get();
      root_ = "/root";
    }
    ASSERT_TRUE(files_->MakeDirectories(root_).ok());
  }
  void TearDown() override { ASSERT_TRUE(RemoveAll(*files_, root_).ok()); }
  std::string Path(std::string_view name) const { return JoinPath(root_, name); }

  std::unique_ptr<MemoryFiles> memory_;
  Files* files_ = nullptr;
  std::string root_;
};

TEST_P(FilesTest, AppendGoesOnAtTheEnd) {
  for (const char* part : {"one", "two"}) {
    auto file = files_->Create(Path("log"), CreateMode::kAppend).value();
    ASSERT_TRUE(file->Append(part).ok());
    ASSERT_TRUE(file->Close().ok());
  }
  EXPECT_EQ(ReadFile(*files_, Path("log")).value(), "onetwo");
}

TEST_P(FilesTest, ALongFileThatWasNotClosedHasItsBytes) {
  const std::string expected(13'000'001, 'x');
  for (const char* name : {"closed", "dropped"}) {
    auto file = files_->Create(Path(name), CreateMode::kExclusive).value();
    ASSERT_TRUE(file->Append(expected).ok());
    if (std::string(name) == "closed") ASSERT_TRUE(file->Close().ok());
    file.reset();
    EXPECT_TRUE(ReadFile(*files_, Path(name)).value() == expected) << name;
  }
}

TEST_P(FilesTest, RenamingADirectoryOntoAFullOneIsRefused) {
  ASSERT_TRUE(files_->MakeDirectories(Path("x")).ok());
  ASSERT_TRUE(files_->MakeDirectories(Path("y/z")).ok());
  EXPECT_EQ(files_->Rename(Path("x"), Path("y")).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(files_->Rename(Path("x"), Path("y/z")).ok());
  EXPECT_FALSE(Exists(*files_, Path("x")));
}

class RemovalTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(FileSystem().MakeDirectories(root_ + "/target").ok());
    ASSERT_TRUE(FileSystem().MakeDirectories(root_ + "/tree").ok());
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), root_ + "/target/thesis", "years").ok());
  }
  void TearDown() override { ASSERT_TRUE(RemoveAll(FileSystem(), root_).ok()); }
  bool TargetIsThere() const { return Exists(FileSystem(), root_ + "/target/thesis"); }

  const std::string root_ = ScratchFolder("removal");
};

TEST_F(RemovalTest, ALinkThatCannotBeRemovedIsNotFollowed) {
  ASSERT_EQ(symlink((root_ + "/target").c_str(), (root_ + "/tree/link").c_str()), 0);
  ASSERT_EQ(chmod((root_ + "/tree").c_str(), 0555), 0);
  WithoutPrivileges([this] {
    for (Files* files : {&FileSystem(), &PrivateFileSystem()}) {
      EXPECT_TRUE(absl::IsPermissionDenied(RemoveAll(*files, root_ + "/tree")));
    }
  });
  EXPECT_TRUE(TargetIsThere());
  ASSERT_EQ(chmod((root_ + "/tree").c_str(), 0755), 0);
  EXPECT_TRUE(RemoveAll(FileSystem(), root_ + "/tree").ok());
  EXPECT_TRUE(TargetIsThere());
}

// The other user exchanges directories with links while they are removed.
TEST_F(RemovalTest, ADirectoryThatBecomesALinkMeanwhileLeadsNowhereElse) {
  const std::string inside = root_ + "/tree/d", outside = root_ + "/side";
  std::atomic<bool> done = false;
  std::thread flip([&] {
    while (!done) {
      if (mkdir(inside.c_str(), 0755) == 0) (void)mkdir((inside + "/e").c_str(), 0755);
      (void)symlink((root_ + "/target").c_str(), outside.c_str());
      renameat2(AT_FDCWD, inside.c_str(), AT_FDCWD, outside.c_str(), RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 2000 && TargetIsThere(); ++i) {
    RemoveAll(FileSystem(), inside).IgnoreError();
  }
  done = true;
  flip.join();
  EXPECT_TRUE(TargetIsThere());
}

TEST_F(RemovalTest, ADirectoryOfAnotherUserIsLeftAloneWhereOnlyThisUsersAreMeant) {
  const std::string tree = root_ + "/tree";
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), tree + "/file", "x").ok());
  EXPECT_TRUE(FileSystem().CheckOwnDirectory(tree).ok());
  ASSERT_EQ(symlink(tree.c_str(), (root_ + "/link").c_str()), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(FileSystem().CheckOwnDirectory(root_ + "/link")));
  if (chown(tree.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "not root";
  EXPECT_TRUE(absl::IsPermissionDenied(RemoveAllOfThisUser(FileSystem(), tree)));
  EXPECT_TRUE(absl::IsPermissionDenied(FileSystem().CheckOwnDirectory(tree)));
  EXPECT_TRUE(Exists(FileSystem(), tree + "/file"));
}

TEST_F(RemovalTest, ATreeThatIsMadeToExhaustTheRemoverIsRefused) {
  std::string path = root_ + "/tree";
  for (int depth = 0; depth < 300; ++depth) path += "/d";
  ASSERT_TRUE(FileSystem().MakeDirectories(path).ok());
  const absl::Status refused = RemoveAll(FileSystem(), root_ + "/tree");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  ASSERT_TRUE(RemoveAll(FileSystem(), root_ + "/tree" + path.substr(root_.size() + 5, 200)).ok());
}

INSTANTIATE_TEST_SUITE_P(Real, FilesContract, testing::Values([] {
                           // The file system lives forever.
                           return FilesUnderTest{{&FileSystem(), [](Files*) {}},
                                                 ScratchFolder("files_contract")};
                         }));
INSTANTIATE_TEST_SUITE_P(Memory, FilesContract, testing::Values([] {
                           return FilesUnderTest{std::make_shared<MemoryFiles>(), "/root"};
                         }));
INSTANTIATE_TEST_SUITE_P(MemoryObjects, FilesContract, testing::Values([] {
                           return FilesUnderTest{std::make_shared<MemoryObjects>(), "/root"};
                         }));
INSTANTIATE_TEST_SUITE_P(RealAndMemory, FilesTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Real" : "Memory"; });

TEST(MemoryFilesTest, ACrashDropsWhatWasNotSynced) {
  MemoryFiles files;
  ASSERT_TRUE(files.MakeDirectories("/d").ok());
  ASSERT_TRUE(files.SyncDirectory("/").ok());
  ASSERT_TRUE(WriteFileAtomically(files, "/d/kept", "kept").ok());
  auto file = files.Create("/d/named", CreateMode::kTruncate).value();
  ASSERT_TRUE(files.SyncDirectory("/d").ok());
  ASSERT_TRUE(file->Append("lost").ok());
  files.Crash();
  EXPECT_EQ(ReadFile(files, "/d/kept").value(), "kept");
  EXPECT_EQ(ReadFile(files, "/d/named").value(), "");
  EXPECT_EQ(file->Append("x").code(), absl::StatusCode::kAborted);
}

TEST(MemoryFilesTest, AtomicWriteSurvivesADeathAtAnyChange) {
  for (int death = 0;; ++death) {
    MemoryFiles files;
    ASSERT_TRUE(WriteFileAtomically(files, "/a", "old").ok());
    files.KillAfter(death);
    const absl::Status status = WriteFileAtomically(files, "/a", "new");
    files.Crash();
    const std::string contents = ReadFile(files, "/a").value();
    EXPECT_TRUE(contents == "old" || contents == "new") << contents;
    if (status.ok()) {
      EXPECT_EQ(contents, "new");
      break;
    }
  }
}

TEST(MemoryFilesTest, AFullDiskWritesWhatFits) {
  MemoryFiles files;
  files.SetCapacity(4);
  EXPECT_EQ(WriteFileAtomically(files, "/a", "12345").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(files.List("/")->empty()) << "the partial temporary file is removed";
  EXPECT_EQ(files.FreeBytes("/").value(), 4u);
}

TEST(PathTest, ParentAndBaseName) {
  EXPECT_EQ(ParentPath("/a/b"), "/a");
  EXPECT_EQ(ParentPath("/a/b/"), "/a");
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(ParentPath("a"), ".");
  EXPECT_EQ(BaseName("/a/b/"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
}

TEST(PosixFilesTest, ALongFileWrittenInPiecesIsWhole) {
  const std::string path = JoinPath(::testing::TempDir(), "long");
  std::string want;
  for (const CreateMode mode : {CreateMode::kTruncate, CreateMode::kAppend}) {
    const auto file = FileSystem().Create(path, mode);
    ASSERT_TRUE(file.ok()) << file.status();
    for (int i = 0; i < 7; ++i) {
      const std::string piece((size_t{5} << 20) + static_cast<size_t>(i),
                              static_cast<char>('a' + i));
      ASSERT_TRUE((*file)->Append(piece).ok());
      want += piece;
    }
    ASSERT_TRUE((*file)->Sync().ok());
    ASSERT_TRUE((*file)->Close().ok());
  }
  EXPECT_TRUE(ReadFile(FileSystem(), path, size_t{1} << 30).value_or("") == want);
  ASSERT_TRUE(FileSystem().Remove(path).ok());
}

}  // namespace
}  // namespace muster
