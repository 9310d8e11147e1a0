#include "base/hash.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

// Test vectors of the authors: http://www.isthe.com/chongo/tech/comp/fnv/
TEST(HashTest, Fnv1aMatchesThePublishedValues) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325);
  EXPECT_EQ(Fnv1a("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8);
}

TEST(HashTest, Fnv1aGoesOnWithAText) { EXPECT_EQ(Fnv1a("bar", Fnv1a("foo")), Fnv1a("foobar")); }

TEST(HashTest, Fnv1aTakesBytesAsUnsigned) {
  EXPECT_EQ(Fnv1a("\xff"), (0xcbf29ce484222325 ^ 0xff) * 0x100000001b3);
}

}  // namespace
}  // namespace muster
