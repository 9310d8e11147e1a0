#include "trainer/logs/crc32c.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

// The vectors of RFC 3720, appendix B.4, and the check value of the polynomial.
TEST(Crc32cTest, IsThatOfTheRfc) {
  std::string up, down;
  for (int i = 0; i < 32; ++i) {
    up.push_back(static_cast<char>(i));
    down.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(up), 0x46dd794eu);
  EXPECT_EQ(Crc32c(down), 0x113fdb5cu);
}

}  // namespace
}  // namespace muster::trainer
