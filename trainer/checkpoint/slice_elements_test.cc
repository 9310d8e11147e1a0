#include "trainer/checkpoint/slice_elements.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {
namespace {

// Returns the places in a tensor of 4 x 5 x 6 of the elements that a slice of it holds, the slow
// way.
std::vector<uint64_t> Places(const TensorSlice& slice) {
  std::vector<uint64_t> box;
  for (int64_t i = 0; i < slice.lengths[0]; ++i) {
    for (int64_t j = 0; j < slice.lengths[1]; ++j) {
      for (int64_t k = 0; k < slice.lengths[2]; ++k) {
        box.push_back(static_cast<uint64_t>(((slice.start[0] + i) * 5 + slice.start[1] + j) * 6 +
                                            slice.start[2] + k));
      }
    }
  }
  const auto begin = box.begin() + static_cast<int64_t>(slice.begin);
  return {begin, begin + static_cast<int64_t>(slice.count)};
}

TEST(SliceElementsTest, AnyRunOfTheTensorFindsItsElementsInABox) {
  const TensorRecord tensor{"t", DataType::kU8, {4, 5, 6}, {}};
  const TensorSlice slice{
      .file = "a", .begin = 3, .count = 17, .start = {1, 2, 1}, .lengths = {3, 2, 4}};
  const std::vector<uint64_t> places = Places(slice);
  for (uint64_t begin = 0; begin <= 120; ++begin) {
    for (uint64_t end = begin; end <= 120; ++end) {
      const ElementRange run = RunInSlice(tensor, slice, {begin, end});
      std::vector<std::byte> into(end - begin, std::byte{0}), expected = into;
      std::vector<char> from;
      for (size_t i = 0; i < places.size(); ++i) {
        if (places[i] < begin || places[i] >= end) continue;
        const char value = static_cast<char>(100 + i);
        ASSERT_EQ(run.begin + from.size(), slice.begin + i);
        from.push_back(value);
        expected[places[i] - begin] = std::byte(value);
      }
      ASSERT_EQ(run.size(), from.size()) << begin << " " << end;
      CopyFromBox(tensor, slice, run, from.data(), begin, into);
      ASSERT_EQ(into, expected) << begin << " " << end;
    }
  }
}

TEST(SliceElementsTest, AFlatSliceHoldsARunOfTheTensor) {
  const TensorRecord tensor{"t", DataType::kF32, {10, 10}, {}};
  const TensorSlice slice{.file = "a", .begin = 20, .count = 30};
  const auto expect = [&](ElementRange of_tensor, ElementRange in_slice) {
    const ElementRange run = RunInSlice(tensor, slice, of_tensor);
    EXPECT_EQ(run.size(), in_slice.size());
    if (run.size() > 0) EXPECT_EQ(run.begin, in_slice.begin);
  };
  expect({0, 100}, {20, 50});
  expect({0, 20}, {});
  expect({0, 21}, {20, 21});
  expect({25, 30}, {25, 30});
  expect({49, 100}, {49, 50});
  expect({50, 100}, {});
  expect({30, 30}, {});
}

TEST(SliceElementsTest, ABoxWithoutElementsMeetsNothing) {
  const TensorRecord tensor{"t", DataType::kF32, {4, 0}, {}};
  const TensorSlice slice{.file = "a", .start = {0, 0}, .lengths = {4, 0}};
  EXPECT_EQ(RunInSlice(tensor, slice, {0, 0}).size(), 0u);
}

}  // namespace
}  // namespace muster::trainer
