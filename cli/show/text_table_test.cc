#include "cli/show/text_table.h"

#include "gtest/gtest.h"

namespace muster::cli {
namespace {

TEST(TextTableTest, ColumnsAreAsWideAsTheirLongestCell) {
  EXPECT_EQ(TextTable({{"NAME", "STATE"}, {"gpt-text", "Training"}, {"a", ""}}),
            "NAME       STATE\n"
            "gpt-text   Training\n"
            "a          -\n");
}

TEST(TextTableTest, CharactersAreCountedNotBytes) {
  EXPECT_EQ(TextTable({{"größe", "1"}, {"größer", "2"}}), "größe    1\ngrößer   2\n");
}

// A job's name cannot hold them, but the message of a condition can.
TEST(TextTableTest, NoTextMovesTheCursor) {
  EXPECT_EQ(TextTable({{"a\033[2Jb\r", "two\nlines"}}), "a?[2Jb?   two lines\n");
}

// Regression: `muster describe` and `muster run` printed them as a job's programs wrote them.
TEST(TextTableTest, NoTextCommandsATerminal) {
  EXPECT_EQ(PrintableLines("a\tb\n\033]0;title\007\r\x08 größe\n"), "a\tb\n?]0;title??? größe\n");
  EXPECT_EQ(Printable("a\tb\n"), "a?b ");
  EXPECT_EQ(PrintableLines("\xC2\x9B"
                           "2J \x9B"
                           "2J \xC2\xA0 \xE2\x80"),
            "?2J ?2J \xC2\xA0 ??")
      << "controls of one byte and of two";
}

TEST(TextTableTest, NoRowsAreNoText) { EXPECT_EQ(TextTable({}), ""); }

}  // namespace
}  // namespace muster::cli
