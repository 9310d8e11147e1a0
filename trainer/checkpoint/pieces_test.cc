#include "trainer/checkpoint/pieces.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(PiecesTest, EveryByteIsInOnePiece) {
  EXPECT_EQ(PieceCount(0, 4096), 1u);
  EXPECT_EQ(PieceCount(1, 4096), 1u);
  EXPECT_EQ(PieceCount(4096, 4096), 1u);
  EXPECT_EQ(PieceCount(4097, 4096), 2u);
  EXPECT_EQ(PieceCount(UINT64_MAX, 4096), uint64_t{1} << 52);
  EXPECT_EQ(PieceCount(UINT64_MAX, 0), 1u);
}

TEST(PiecesTest, TheChecksumsDoNotDependOnHowTheBytesCome) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes.push_back(static_cast<char>(i * i));
  const std::string_view all = bytes;
  const std::vector<uint64_t> expected = {Hash64(all.substr(0, 4096)),
                                          Hash64(all.substr(4096, 4096)), Hash64(all.substr(8192))};
  for (const size_t part : {1, 7, 4096, 5000, 10'000}) {
    PieceHasher hasher(4096);
    for (size_t at = 0; at < all.size(); at += part) hasher.Update(all.substr(at, part));
    EXPECT_EQ(hasher.Finish(), expected) << part;
  }
}

TEST(PiecesTest, ARunThatEndsWithAPieceHasNoEmptyOneAfterIt) {
  PieceHasher hasher(4096);
  const std::string bytes(8192, 'x');
  hasher.Update(bytes);
  EXPECT_EQ(hasher.Finish().size(), 2u);
}

TEST(PiecesTest, NoBytesHaveOneChecksum) {
  EXPECT_EQ(PieceHasher(4096).Finish(), std::vector<uint64_t>{Hash64("")});
}

TEST(PiecesTest, WithoutASizeAllBytesAreOnePiece) {
  PieceHasher hasher(0);
  hasher.Update("abc");
  hasher.Update("def");
  EXPECT_EQ(hasher.Finish(), std::vector<uint64_t>{Hash64("abcdef")});
}

TEST(PiecesTest, ChecksumsAreReadAsTheyWereWritten) {
  const std::vector<uint64_t> checksums = {0, 1, 0xfedcba9876543210, UINT64_MAX};
  const std::string text = FormatChecksums(checksums);
  EXPECT_EQ(text, "00000000000000000000000000000001fedcba9876543210ffffffffffffffff");
  EXPECT_EQ(ParseChecksums(text), checksums);
  EXPECT_EQ(ParseChecksums(""), std::vector<uint64_t>());
  for (const char* bad : {"0", "000000000000000", "00000000000000000", "000000000000000F",
                          "000000000000000g", " 00000000000000 "}) {
    EXPECT_EQ(ParseChecksums(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace muster::trainer
