#include "base/utf8.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(Utf8SequenceLengthTest, ReturnsTheBytesOfTheFirstCodePoint) {
  EXPECT_EQ(Utf8SequenceLength("ab"), 1u);
  EXPECT_EQ(Utf8SequenceLength("\xC3\xA9x"), 2u);
  EXPECT_EQ(Utf8SequenceLength("\xE2\x82\xAC"), 3u);
  EXPECT_EQ(Utf8SequenceLength("\xF4\x8F\xBF\xBF"), 4u);
}

TEST(Utf8SequenceLengthTest, IsZeroForMalformedBytes) {
  for (const char* text :
       {"", "\x80", "\xC3", "\xC3(", "\xC0\xAF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(Utf8SequenceLength(text), 0u) << text;
  }
}

}  // namespace
}  // namespace muster
