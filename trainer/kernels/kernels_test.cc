#include "trainer/kernels/kernels.h"

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/full.h"
#include "ATen/ops/randn.h"
#include "gtest/gtest.h"
#include "trainer/random/element_run.h"
#include "trainer/random/fill.h"

namespace muster::trainer {
namespace {

TEST(KernelsTest, TheCpuFillsTensorsOfBothTypesWithTheSameNumbers) {
  const NormalKey key{.seed = 5, .name = "w", .deviation = 0.5};
  const std::vector<ElementRun> runs = {{.begin = 3, .count = 100}, {.begin = 7, .count = 28}};
  const at::Tensor wide = at::full({128}, 9.0, at::kDouble),
                   narrow = at::full({128}, 9.0, at::kFloat);
  KernelsOf(wide).FillNormal(key, runs, wide);
  KernelsOf(narrow).FillNormal(key, runs, narrow);
  EXPECT_TRUE(narrow.equal(wide.to(at::kFloat)));
  EXPECT_TRUE(wide.narrow(0, 4, 28).equal(wide.narrow(0, 100, 28)));
  const std::vector<int64_t> samples = {8, 9};
  const std::vector<ElementRun> row = {{.begin = 0, .count = 64}};
  KernelsOf(narrow).FillDropout({.seed = 1}, 0.5, samples, row, narrow);
  EXPECT_FALSE(narrow.narrow(0, 0, 64).equal(narrow.narrow(0, 64, 64)));
}

TEST(KernelsTest, SquaresAndDigestsAreThoseOfTheElements) {
  const at::Tensor flat = at::randn({4 * 64}, at::kFloat);
  const at::Tensor squares = KernelsOf(flat).ChunkSquares(flat, 4);
  const at::Tensor want = flat.to(at::kDouble).square().view({4, 64}).sum(1);
  EXPECT_LT((squares - want).abs().max().item<double>(), 1e-12);
  const at::Tensor copy = flat.clone();
  EXPECT_EQ(KernelsOf(flat).Digest(copy, 0), KernelsOf(flat).Digest(flat, 0));
  EXPECT_NE(KernelsOf(flat).Digest(copy, 1), KernelsOf(flat).Digest(flat, 0));
  copy[255] += 1e-3;
  EXPECT_NE(KernelsOf(flat).Digest(copy, 0), KernelsOf(flat).Digest(flat, 0));
}

TEST(KernelsTest, ADeviceWithoutAFormIsNamed) {
  const at::Tensor nowhere = at::empty({4}, at::TensorOptions(at::kMeta).dtype(at::kFloat));
  try {
    KernelsOf(nowhere);
    FAIL() << "found a form for meta";
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("the trainer has no kernels for meta"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace muster::trainer
