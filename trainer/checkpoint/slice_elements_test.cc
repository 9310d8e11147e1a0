#include "trainer/checkpoint/slice_elements.h"

#include <algorithm>
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
  for (int64_t i = 0; i < slice.box.lengths[0]; ++i) {
    for (int64_t j = 0; j < slice.box.lengths[1]; ++j) {
      for (int64_t k = 0; k < slice.box.lengths[2]; ++k) {
        box.push_back(static_cast<uint64_t>(
            ((slice.box.start[0] + i) * 5 + slice.box.start[1] + j) * 6 + slice.box.start[2] + k));
      }
    }
  }
  const auto begin = box.begin() + static_cast<int64_t>(slice.begin);
  return {begin, begin + static_cast<int64_t>(slice.count)};
}

TEST(SliceElementsTest, AnyRunOfTheTensorFindsItsElementsInABox) {
  const TensorRecord tensor{"t", DataType::kU8, {4, 5, 6}, {}};
  const TensorSlice slice{
      .file = "a", .begin = 3, .count = 17, .box = {.start = {1, 2, 1}, .lengths = {3, 2, 4}}};
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
      CopyFromSlice(tensor, slice, run, from.data(), {.stride = 120, .length = 120}, begin, into);
      ASSERT_EQ(into, expected) << begin << " " << end;
    }
  }
}

// A fused layer of 4 rows and 3 blocks of 8 columns, saved by two ranks and wanted by four, and the
// other way around.
TEST(SliceElementsTest, EachPartOfAFusedLayerFindsItsElementsInTheBoxesOfOtherParts) {
  const TensorRecord tensor{"t", DataType::kU8, {4, 24}, {}};
  for (const int64_t saved : {1, 2, 4}) {
    for (const uint64_t wanted : {1, 2, 4}) {
      for (uint64_t part = 0; part < wanted; ++part) {
        const Stripes stripes{.stride = 8, .begin = part * 8 / wanted, .length = 8 / wanted};
        const uint64_t count = 96 / wanted;
        std::vector<std::byte> into(count, std::byte{255});
        int met = 0;
        for (int64_t s = 0; s < saved; ++s) {
          const int64_t own = 8 / saved;
          const TensorSlice slice{
              .file = "a",
              .count = static_cast<uint64_t>(96 / saved),
              .box = {.view = {4, 3, 8}, .start = {0, 0, s * own}, .lengths = {4, 3, own}}};
          std::vector<char> from;
          for (int64_t i = 0; i < 96 / saved; ++i) {
            from.push_back(static_cast<char>(i / own * 8 + s * own + i % own));
          }
          if (!MayMeet(tensor, slice, stripes)) continue;
          ++met;
          CopyFromSlice(tensor, slice, {0, slice.count}, from.data(), stripes, 0, into);
        }
        for (uint64_t i = 0; i < count; ++i) {
          EXPECT_EQ(static_cast<uint64_t>(into[i]), stripes.PlaceOf(i)) << saved << " " << wanted;
        }
        EXPECT_EQ(met, std::max<int64_t>(1, saved / static_cast<int64_t>(wanted)));
      }
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
  const TensorSlice slice{.file = "a", .box = {.start = {0, 0}, .lengths = {4, 0}}};
  EXPECT_EQ(RunInSlice(tensor, slice, {0, 0}).size(), 0u);
}

}  // namespace
}  // namespace muster::trainer
