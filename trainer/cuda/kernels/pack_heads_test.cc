#include "trainer/cuda/kernels/pack_heads.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/cuda/kernels/device_memory.h"
#include "trainer/cuda/kernels/kernel_test_util.h"

namespace muster::trainer::cuda {
namespace {

struct Case {
  int64_t batch, positions, heads, width;
  bool by_head;
  bool heads_first;  // [batch, heads, positions, width] in memory, as attention may leave them
  size_t shift = 0;
};

void ExpectPacked(const Case& test, Element element) {
  Dice dice;
  SCOPED_TRACE(testing::Message() << "seed " << dice.seed() << ", width " << test.width
                                  << ", by head " << test.by_head << ", shift " << test.shift);
  const int64_t count = test.batch * test.positions * test.heads * test.width;
  const int64_t position = test.heads_first ? test.width : test.heads * test.width;
  const int64_t head = test.heads_first ? test.positions * test.width : test.width;
  std::vector<double> parts[3];
  for (auto& part : parts) part = dice.Normal(count, 1.0, element);
  const DeviceValues q(element, parts[0], test.shift), k(element, parts[1]), v(element, parts[2]);
  const DeviceValues packed(element, 3 * count);
  PackHeads pack{.batch = test.batch,
                 .positions = test.positions,
                 .heads = test.heads,
                 .width = test.width,
                 .by_head = test.by_head,
                 .element = element,
                 .packed = packed.data()};
  const void* const data[] = {q.data(), k.data(), v.data()};
  for (size_t part = 0; part < 3; ++part) {
    pack.parts[part] = {data[part], test.positions * test.heads * test.width, position, head};
  }
  ASSERT_TRUE(LaunchPackHeads(pack, nullptr).ok());
  std::vector<double> expected;
  const int64_t outer = test.by_head ? test.heads : 3, inner = test.by_head ? 3 : test.heads;
  for (int64_t b = 0; b < test.batch; ++b) {
    for (int64_t p = 0; p < test.positions; ++p) {
      for (int64_t i = 0; i < outer * inner; ++i) {
        const int64_t part = test.by_head ? i % 3 : i / inner;
        const int64_t h = test.by_head ? i / 3 : i % inner;
        const int64_t from = b * test.positions * test.heads * test.width + p * position + h * head;
        for (int64_t w = 0; w < test.width; ++w) expected.push_back(parts[part][from + w]);
      }
    }
  }
  EXPECT_EQ(packed.Read(), expected);
  EXPECT_TRUE(packed.GuardHolds());
}

TEST(PackHeadsTest, EveryHeadComesToItsPlace) {
  for (const Element element : {Element::kFloat, Element::kBfloat16}) {
    for (const bool by_head : {false, true}) {
      for (const bool heads_first : {false, true}) {
        ExpectPacked({2, 5, 3, 64, by_head, heads_first}, element);
        ExpectPacked({3, 2, 4, 6, by_head, heads_first}, element);
        ExpectPacked({1, 7, 2, 8, by_head, heads_first, 4}, element);
      }
    }
  }
}

TEST(PackHeadsTest, NoPositionsAreNoWork) {
  EXPECT_TRUE(LaunchPackHeads({.heads = 1, .width = 8}, nullptr).ok());
}

}  // namespace
}  // namespace muster::trainer::cuda
