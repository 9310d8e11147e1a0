#include "base/percent_encoding.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(PercentEncodeTest, OnlyUnreservedCharactersStay) {
  EXPECT_EQ(PercentEncode("a/b c+d~\xc3\xa9"), "a%2Fb%20c%2Bd~%C3%A9");
  EXPECT_EQ(PercentEncode("a/b", "/"), "a/b");
}

}  // namespace
}  // namespace muster
