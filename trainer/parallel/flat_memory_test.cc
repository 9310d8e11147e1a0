#include "trainer/parallel/flat_memory.h"

#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

constexpr int64_t kElements = 4096;

at::Tensor Make() {
  at::Tensor flat = FlatWithoutMemory(kElements, at::kFloat);
  GiveMemory(flat);
  return flat;
}

TEST(FlatMemoryTest, TakenMemoryIsGivenToTheNextTensorOfItsSize) {
  const at::Tensor flat = Make();
  const void* const memory = flat.const_data_ptr();
  TakeMemory(flat);
  EXPECT_FALSE(HasMemory(flat));
  EXPECT_EQ(Make().const_data_ptr(), memory);
  FreeKeptMemory();
}

TEST(FlatMemoryTest, LeasedMemoryThatIsTakenIsNotGivenAway) {
  const at::Tensor flat = Make();
  at::Tensor lease = LeaseMemory(flat);
  EXPECT_EQ(lease.const_data_ptr(), flat.const_data_ptr());
  TakeMemory(flat);
  FreeKeptMemory();
  const at::Tensor other = Make();
  EXPECT_NE(other.const_data_ptr(), lease.const_data_ptr());
  at::Tensor(other).fill_(1.0);
  lease.fill_(13.0);
  EXPECT_TRUE(at::equal(other, at::full({kElements}, 1.0F)));
}

TEST(FlatMemoryTest, MemoryWhoseLeaseHasEndedIsGivenAgain) {
  const at::Tensor flat = Make();
  const void* const memory = flat.const_data_ptr();
  {
    const at::Tensor lease = LeaseMemory(flat);
  }
  TakeMemory(flat);
  EXPECT_EQ(Make().const_data_ptr(), memory);
  FreeKeptMemory();
}

TEST(FlatMemoryTest, ALeaseOfAViewIsOfTheViewsElements) {
  const at::Tensor flat = Make();
  at::Tensor(flat).fill_(1.0);
  at::Tensor(flat.narrow(0, 100, 50)).fill_(2.0);
  const at::Tensor lease = LeaseMemory(flat.narrow(0, 100, 50));
  TakeMemory(flat);
  EXPECT_TRUE(at::equal(lease, at::full({50}, 2.0F)));
}

TEST(FlatMemoryTest, MemoryThatIsNeverTakenNeedsNoLease) {
  const at::Tensor plain = at::full({3}, 1.0F);
  EXPECT_TRUE(LeaseMemory(plain).is_same(plain));
  EXPECT_FALSE(LeaseMemory(at::Tensor()).defined());
}

}  // namespace
}  // namespace muster::trainer
