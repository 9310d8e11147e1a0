#include "trainer/model/layers/embedding.h"

#include "ATen/ops/embedding.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/randint.h"
#include "ATen/ops/randn.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"

namespace muster::trainer {
namespace {

TEST(EmbeddingTest, GradientsHaveTheBitsOfAutogradsWhetherOrNotTheyHaveMemory) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const int64_t count : {50, 5000}) {
      const at::Tensor weight = at::randn({count, 6}, type).requires_grad_(true);
      // Most rows that are looked up are so several times.
      const at::Tensor rows = at::randint(40, {8, 16}, at::kLong).add(count - 40);
      const at::Tensor g = at::randn({8, 16, 6}, type);
      const at::Tensor want =
          torch::autograd::grad({at::embedding(weight, rows)}, {weight}, {g})[0];

      const at::Tensor y = EmbeddingRows(weight, rows);
      EXPECT_TRUE(at::equal(y, at::embedding(weight, rows)));
      EXPECT_TRUE(at::equal(torch::autograd::grad({y}, {weight}, {g})[0], want));

      const at::Tensor before = at::randn({count, 6}, type), memory = before.clone();
      weight.mutable_grad() = memory;
      torch::autograd::backward({EmbeddingRows(weight, rows)}, {g});
      EXPECT_TRUE(weight.grad().is_same(memory));
      EXPECT_TRUE(at::equal(memory, before.add(want)));
    }
  }
}

}  // namespace
}  // namespace muster::trainer
