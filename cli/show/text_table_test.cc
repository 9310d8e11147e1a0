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

TEST(TextTableTest, NoRowsAreNoText) { EXPECT_EQ(TextTable({}), ""); }

}  // namespace
}  // namespace muster::cli
