#include "base/byte_text.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(ByteTextTest, ASizeHasTheLargestUnitThatItReaches) {
  EXPECT_EQ(ByteText(0), "0 bytes");
  EXPECT_EQ(ByteText(1023), "1023 bytes");
  EXPECT_EQ(ByteText(1024), "1.0 KiB");
  EXPECT_EQ(ByteText(3 << 19), "1.5 MiB");
  EXPECT_EQ(ByteText(int64_t{80} << 30), "80.0 GiB");
  EXPECT_EQ(ByteText(int64_t{1} << 51), "2048.0 TiB");
}

}  // namespace
}  // namespace muster
