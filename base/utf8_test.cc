#include "base/utf8.h"

#include <cstdint>
#include <optional>
#include <string>

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

TEST(FindTextFault, AcceptsUtf8) {
  for (const char* text : {"", "plain\ttext\r\n", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
                           "\xef\xbb\xbf"
                           "a"}) {
    EXPECT_FALSE(FindTextFault(text).has_value()) << text;
  }
}

TEST(FindTextFault, NamesTheFirstBadByte) {
  const struct {
    std::string text;
    size_t offset;
    int line;
    uint8_t byte;
  } kCases[] = {
      {std::string("a\0b", 3), 1, 1, 0x00},
      {"a\nb\n\x1b[0m", 4, 3, 0x1b},
      {"\x7f", 0, 1, 0x7f},
      {"a\x80", 1, 1, 0x80},
      {"\xc1\x81", 0, 1, 0xc1},
      {"\xe0\x9f\x80", 0, 1, 0xe0},
      {"\xed\xa0\x80", 0, 1, 0xed},
      {"\xf0\x8f\x80\x80", 0, 1, 0xf0},
      {"\xf4\x90\x80\x80", 0, 1, 0xf4},
      {"\xf5\x80\x80\x80", 0, 1, 0xf5},
      {"ab\xe2\x82", 2, 1, 0xe2},
  };
  for (const auto& c : kCases) {
    const std::optional<TextFault> fault = FindTextFault(c.text);
    ASSERT_TRUE(fault.has_value()) << c.offset;
    EXPECT_EQ(fault->offset, c.offset);
    EXPECT_EQ(fault->line, c.line);
    EXPECT_EQ(fault->byte, c.byte);
  }
}

}  // namespace
}  // namespace muster
