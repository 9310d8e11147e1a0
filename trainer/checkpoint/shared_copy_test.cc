#include "trainer/checkpoint/shared_copy.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

std::vector<uint32_t> Numbers(size_t count) {
  std::vector<uint32_t> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<uint32_t>(i * 2654435761u));
  return numbers;
}

TEST(SharedCopyTest, OneThreadCopiesEverything) {
  const std::vector<uint32_t> from = Numbers(700'001);
  std::vector<uint32_t> into(from.size());
  SharedCopy copy;
  copy.Add(std::as_bytes(std::span(from)), reinterpret_cast<std::byte*>(into.data()));
  copy.Finish();
  EXPECT_EQ(into, from);
  copy.Finish();
}

TEST(SharedCopyTest, NothingIsCopiedAtOnce) {
  SharedCopy copy;
  copy.Add({}, nullptr);
  copy.Finish();
}

// A thread that returns from Finish() may change the source, even if another thread copied it.
TEST(SharedCopyTest, TheSourceMayChangeOnceAnyThreadHasFinished) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    std::vector<uint32_t> from = Numbers(2'000'000);
    const std::vector<uint32_t> expected = from;
    std::vector<uint32_t> into(from.size());
    SharedCopy copy;
    copy.Add(std::as_bytes(std::span(from)), reinterpret_cast<std::byte*>(into.data()));
    std::thread other([&copy] { copy.Finish(); });
    copy.Finish();
    from.assign(from.size(), 0);
    other.join();
    ASSERT_EQ(into, expected);
  }
}

}  // namespace
}  // namespace muster::trainer
