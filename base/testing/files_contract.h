#ifndef MUSTER_BASE_TESTING_FILES_CONTRACT_H_
#define MUSTER_BASE_TESTING_FILES_CONTRACT_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/files.h"

namespace muster {

// Files that the suite runs on, with a directory in which nothing else is.
struct FilesUnderTest {
  std::shared_ptr<Files> files;
  std::string root;
};

// The contract of base/files/files.h that file systems and object stores share. A test instantiates
// the suite, INSTANTIATE_TEST_SUITE_P(Name, FilesContract, ...), with functions that make Files.
class FilesContract : public testing::TestWithParam<std::function<FilesUnderTest()>> {
 protected:
  void SetUp() override {
    made_ = GetParam()();
    ASSERT_TRUE(files().MakeDirectories(made_.root).ok());
  }
  void TearDown() override { ASSERT_TRUE(RemoveAll(files(), made_.root).ok()); }
  Files& files() { return *made_.files; }
  const std::string& root() const { return made_.root; }
  std::string Path(std::string_view name) const { return JoinPath(made_.root, name); }

 private:
  FilesUnderTest made_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FilesContract);

TEST_P(FilesContract, WritesAndReadsBack) {
  ASSERT_TRUE(WriteFileAtomically(files(), Path("a"), "hello").ok());
  ASSERT_TRUE(WriteFileAtomically(files(), Path("a"), "world!").ok());
  EXPECT_EQ(ReadFile(files(), Path("a")).value(), "world!");
  EXPECT_EQ(files().Map(Path("a")).value()->bytes(), "world!");
  EXPECT_EQ(files().Stat(Path("a"))->size, 6u);
  EXPECT_EQ(files().List(root())->size(), 1u) << "a temporary file stayed";
}

TEST_P(FilesContract, ReadRefusesMoreThanTheLimit) {
  ASSERT_TRUE(WriteFileAtomically(files(), Path("a"), "hello").ok());
  EXPECT_EQ(ReadFile(files(), Path("a"), 4).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_P(FilesContract, ALongFileHasTheBytesThatWereAppended) {
  std::string expected;
  auto file = files().Create(Path("long"), CreateMode::kExclusive).value();
  const auto append = [&](size_t size) {
    std::string part(size, '\0');
    for (size_t i = 0; i < size; ++i) part[i] = static_cast<char>((expected.size() + i) * 31 >> 3);
    ASSERT_TRUE(file->Append(part).ok());
    expected += part;
  };
  for (const size_t size : {100, (8 << 20) - 101, 2, 9'000'001, 0, 4096, 262'144}) append(size);
  EXPECT_TRUE(file->Sync().ok());
  // An object appears when its file is closed.
  if (!files().IsObjectStore()) {
    EXPECT_TRUE(ReadFile(files(), Path("long")).value() == expected);
  }
  for (const size_t size : {1, 5'000'000}) append(size);
  EXPECT_TRUE(file->Close().ok());
  EXPECT_TRUE(ReadFile(files(), Path("long")).value() == expected);
}

TEST_P(FilesContract, ExclusiveCreationHasOneWinner) {
  EXPECT_TRUE(CreateExclusive(files(), Path("lock"), "1").ok());
  EXPECT_EQ(CreateExclusive(files(), Path("lock"), "2").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadFile(files(), Path("lock")).value(), "1");
}

TEST_P(FilesContract, RemoveRefusesAFullDirectoryAndRemoveAllDoesNot) {
  ASSERT_TRUE(files().MakeDirectories(Path("d/e")).ok());
  ASSERT_TRUE(WriteFileAtomically(files(), Path("d/e/f"), "x").ok());
  EXPECT_EQ(files().Remove(Path("d")).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(RemoveAll(files(), Path("d")).ok());
  EXPECT_FALSE(Exists(files(), Path("d")));
  EXPECT_TRUE(RemoveAll(files(), Path("d")).ok()) << "nothing there is no error";
}

TEST_P(FilesContract, ErrorsNameThePath) {
  const absl::Status missing = ReadFile(files(), Path("nowhere")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find(Path("nowhere")), std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(files(), Path("a"), "x").ok());
  EXPECT_EQ(ReadFile(files(), root()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(files().Open(Path("c/d")).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(FilesContract, ReadingPastTheEndIsOutOfRange) {
  ASSERT_TRUE(WriteFileAtomically(files(), Path("a"), "hello").ok());
  auto file = files().Open(Path("a")).value();
  char buffer[8];
  EXPECT_TRUE(file->Read(1, buffer, 4).ok());
  EXPECT_EQ(file->Read(2, buffer, 4).code(), absl::StatusCode::kOutOfRange);
}

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_FILES_CONTRACT_H_
