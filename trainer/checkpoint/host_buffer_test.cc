#include "trainer/checkpoint/host_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(HostBufferTest, GrowsAndIsUsedAgain) {
  HostBuffer buffer;
  ASSERT_TRUE(buffer.Reserve(100).ok());
  std::byte* const first = buffer.data();
  EXPECT_GE(buffer.size(), 100u);
  std::memset(first, 7, 100);
  ASSERT_TRUE(buffer.Reserve(50).ok());
  EXPECT_EQ(buffer.data(), first);
  EXPECT_EQ(first[99], std::byte{7});
  const size_t larger = buffer.size() + 1;
  ASSERT_TRUE(buffer.Reserve(larger).ok());
  EXPECT_GE(buffer.size(), larger);
  std::memset(buffer.data(), 1, larger);
}

TEST(HostBufferTest, PopulatesPieceByPieceAndKeepsWhatIsThere) {
  HostBuffer buffer;
  EXPECT_FALSE(buffer.Populate(1 << 20));
  ASSERT_TRUE(buffer.Reserve(size_t{5} << 20).ok());
  buffer.data()[0] = std::byte{7};
  int pieces = 0;
  while (buffer.Populate(size_t{1} << 20)) ++pieces;
  EXPECT_EQ(pieces, static_cast<int>(buffer.size() >> 20));
  EXPECT_EQ(buffer.data()[0], std::byte{7});
  std::vector<unsigned char> there(buffer.size() / 4096);
  ASSERT_EQ(mincore(buffer.data(), buffer.size(), there.data()), 0);
  EXPECT_EQ(std::count_if(there.begin(), there.end(), [](unsigned char c) { return (c & 1) == 0; }),
            0);
}

TEST(HostBufferTest, MovesLeaveTheOtherEmpty) {
  HostBuffer a;
  ASSERT_TRUE(a.Reserve(100).ok());
  std::byte* const data = a.data();
  HostBuffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
  HostBuffer c;
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
}

TEST(HostBufferTest, AFailedReserveNamesTheSizeAndLeavesTheBufferUsable) {
  HostBuffer buffer;
  const absl::Status status = buffer.Reserve(size_t{1} << 60);
  EXPECT_EQ(status, absl::ResourceExhaustedError(
                        "no memory for a copy of 1152921504606846976 bytes of tensors"));
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_TRUE(buffer.Reserve(100).ok());
}

}  // namespace
}  // namespace muster::trainer
