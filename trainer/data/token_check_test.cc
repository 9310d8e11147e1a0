#include "trainer/data/token_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/data/token_cache.h"

namespace muster::trainer {
namespace {

template <typename T>
std::string Numbers(size_t count, uint32_t (*value)(size_t)) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    const T number = static_cast<T>(value(i));
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return bytes;
}

uint32_t Varied(size_t i) { return static_cast<uint32_t>(i * 7919 % 300); }
uint32_t InTurn(size_t i) { return static_cast<uint32_t>(i % 2); }

std::string Error(const std::string& bytes, TokenType type = TokenType::kU16) {
  return std::string(CheckTokenBytes(bytes, type).message());
}

std::string LlmcShard(uint32_t magic, uint32_t version) {
  std::string header(1024, '\0');
  std::memcpy(header.data(), &magic, sizeof magic);
  std::memcpy(header.data() + 4, &version, sizeof version);
  return header + Numbers<uint16_t>(4000, Varied);
}

TEST(TokenCheckTest, TokensOfTheRightWidthAreTaken) {
  EXPECT_EQ(Error(Numbers<uint16_t>(4000, Varied)), "");
  EXPECT_EQ(Error(Numbers<uint32_t>(4000, Varied), TokenType::kU32), "");
  EXPECT_EQ(Error(Numbers<uint16_t>(4000, InTurn)), "") << "two numbers prove nothing";
  EXPECT_EQ(Error(Numbers<uint32_t>(8, Varied)), "") << "nor do a few";
  EXPECT_EQ(Error(""), "");
}

TEST(TokenCheckTest, AFileOfAnotherKindIsRefusedByItsName) {
  const std::string wanted = "; format Tokens takes token numbers alone";
  for (const uint32_t magic : {20240520u, 20240801u}) {
    EXPECT_EQ(Error(LlmcShard(magic, 1)),
              absl::StrCat("is a shard of llm.c, with a header of 1024 bytes", wanted,
                           ": tail -c +1025 makes such a file of it"));
    EXPECT_EQ(Error(LlmcShard(magic, 1).substr(1024)), "") << "what tail writes";
  }
  EXPECT_EQ(Error(LlmcShard(20240520, 70000)), "") << "tokens may begin so";
  EXPECT_EQ(Error("\x93NUMPY\x01" + Numbers<uint16_t>(4000, Varied)),
            absl::StrCat("is a NumPy array: array.tofile(\"tokens.bin\") writes its numbers alone",
                         wanted));
  EXPECT_EQ(Error("PK\x03\x04" + Numbers<uint16_t>(4000, Varied)),
            absl::StrCat("is a zip archive, as numpy.savez and torch.save make", wanted));
  EXPECT_EQ(Error("PAR1" + Numbers<uint16_t>(4000, Varied)),
            absl::StrCat("is a Parquet file", wanted));
  std::string text;
  for (int i = 0; i < 100; ++i) text += "{\"text\": \"the quick brown fox\"}\n";
  EXPECT_EQ(Error(text), absl::StrCat("is text", wanted, ": set data.format to Text"));
}

TEST(TokenCheckTest, NumbersOfAnotherWidthAreRefused) {
  EXPECT_EQ(Error(Numbers<uint32_t>(4000, Varied)),
            "every second number of 16 bits is 0, because its tokens have 32: set data.tokenType "
            "to U32");
  const std::string wide =
      "its numbers have 64 bits: write them with 32, in NumPy as array.astype(\"<u4\"), and set "
      "data.tokenType to U32";
  EXPECT_EQ(Error(Numbers<uint64_t>(4000, Varied)), wide);
  EXPECT_EQ(Error(Numbers<uint64_t>(4000, Varied), TokenType::kU32), wide);
}

TEST(TokenCheckTest, AnIdBeyondTheVocabularyIsFoundWhereverItIs) {
  for (const TokenType type : {TokenType::kU16, TokenType::kU32}) {
    for (const size_t at : {size_t{0}, size_t{399'999}, size_t{600'000}, size_t{999'999}}) {
      std::vector<uint32_t> ids(1'000'000, 7);
      ids[at] = 500;
      const Tokens tokens = TokensInMemory(ids, type);
      EXPECT_TRUE(CheckTokenIds(tokens, 501).ok());
      EXPECT_EQ(CheckTokenIds(tokens, 500).message(),
                absl::StrCat("holds token 500 at position ", at,
                             ", but the vocabulary ends at 499: is model.vocabulary too small, or "
                             "data.tokenType not that of the file?"));
    }
  }
  EXPECT_TRUE(CheckTokenIds(Tokens(), 1).ok());
}

}  // namespace
}  // namespace muster::trainer
