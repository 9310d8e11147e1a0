#include "trainer/data/data_digest.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "gtest/gtest.h"
#include "trainer/data/token_cache.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {
namespace {

Tokens Make(uint64_t count, uint64_t changed = UINT64_MAX) {
  std::vector<uint32_t> ids(count);
  for (uint64_t i = 0; i < count; ++i) ids[i] = static_cast<uint32_t>(i * 31 % 50'000);
  if (changed < count) ids[changed] ^= 1;
  return TokensInMemory(ids, TokenType::kU16);
}

DataDigest Of(const Tokens& tokens, uint64_t seed = 7, uint64_t sources = 1) {
  return DataDigester("", sources, tokens, Tokens()).Digest(seed);
}

TEST(DataDigestTest, EqualDataHaveEqualDigests) {
  EXPECT_EQ(Of(Make(5000)), Of(Make(5000)));
  EXPECT_EQ(Of(Make(20'000'000)), Of(Make(20'000'000)));
}

TEST(DataDigestTest, AnyTokenOfASmallSetIsSeen) {
  const DataDigest whole = Of(Make(5000));
  for (const uint64_t at : {0, 1, 2500, 4999}) {
    EXPECT_NE(Of(Make(5000, at)).contents, whole.contents) << at;
  }
}

TEST(DataDigestTest, ALengthAndAFileOfAnotherNameAreSeen) {
  EXPECT_NE(Of(Make(5000)).tokens, Of(Make(5001)).tokens);
  EXPECT_NE(Of(Make(5000), 7, 1), Of(Make(5000), 7, 2));
}

TEST(DataDigestTest, OfALargeSetTheSeedChoosesThePlaces) {
  const Tokens tokens = Make(20'000'000);
  EXPECT_NE(Of(tokens, 7).contents, Of(tokens, 8).contents);
  // Every second token is another one.
  std::vector<uint32_t> ids(20'000'000);
  for (uint64_t i = 0; i < ids.size(); ++i) {
    ids[i] =
        static_cast<uint32_t>(i * 31 % 50'000) ^ (i > 2000 && i < ids.size() - 2000 ? i & 1 : 0);
  }
  EXPECT_NE(Of(TokensInMemory(ids, TokenType::kU16), 7).contents, Of(tokens, 7).contents);
}

TEST(DataDigestTest, ValidationIsCompared) {
  EXPECT_NE(DataDigester("", 1, Make(5000), Make(100)).Digest(7),
            DataDigester("", 1, Make(5000), Make(100, 50)).Digest(7));
}

TEST(DataDigestTest, ADigestIsRememberedUntilItsFileChanges) {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string path = JoinPath(root == nullptr ? "/tmp" : root, "tokens.bin");
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), path, std::string(8000, 'a')).ok());
  std::shared_ptr<const MappedFile> file = *FileSystem().Map(path);
  DataDigester digester(path, 1, Tokens(file, file->bytes(), TokenType::kU16), Tokens());
  EXPECT_EQ(digester.remembered(), 0u);
  const DataDigest before = digester.Digest(7);
  EXPECT_EQ(digester.remembered(), 7u);
  {
    auto writer = *FileSystem().Create(path, CreateMode::kAppend);
    ASSERT_TRUE(writer->Append("bb").ok());
    ASSERT_TRUE(writer->Close().ok());
  }
  EXPECT_EQ(digester.remembered(), 0u) << "its size has changed";
  EXPECT_EQ(digester.Digest(7), before) << "what is trained on has not";
  EXPECT_EQ(digester.remembered(), 7u);
  const auto changed = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, changed + std::chrono::seconds(5));
  EXPECT_EQ(digester.remembered(), 0u) << "its time has changed";
  std::filesystem::remove(path);
  EXPECT_EQ(digester.remembered(), 0u) << "it is gone";
}

}  // namespace
}  // namespace muster::trainer
