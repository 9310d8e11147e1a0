#include "trainer/model/layers/attention.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "ATen/TensorOperators.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/softmax.h"
#include "c10/core/Allocator.h"
#include "c10/util/ThreadLocalDebugInfo.h"
#include "gtest/gtest.h"
#include "planner/memory.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/model/layers/alibi.h"

namespace muster::trainer {
namespace {

constexpr int64_t kBatch = 2, kHeads = 4, kSequence = 6, kWidth = 8;

at::Tensor Leaf(int64_t heads, at::ScalarType type = at::kDouble) {
  return at::randn({kBatch, heads, kSequence, kWidth}, at::TensorOptions().dtype(type))
      .requires_grad_(true);
}

at::Tensor Biases(at::ScalarType type) {
  AlibiTable table(kHeads);
  return table.For(at::arange(kSequence, at::TensorOptions().dtype(at::kLong)), type);
}

// Writes the formula out; `bias` hides the future.
at::Tensor Plain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const at::Tensor& bias) {
  const at::Tensor scores = at::matmul(q, k.transpose(-1, -2)) / std::sqrt(double{kWidth}) + bias;
  return at::matmul(at::softmax(scores, -1), v).transpose(1, 2).reshape({-1, kHeads * kWidth});
}

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(AttendTest, BiasesAreAddedToTheScores) {
  const at::Tensor q = Leaf(kHeads), k = Leaf(kHeads), v = Leaf(kHeads);
  const at::Tensor bias = Biases(at::kDouble);
  const at::Tensor got = Attend({q, k, v, bias}, {}, {});
  const at::Tensor want = Plain(q, k, v, bias);
  EXPECT_LT(Distance(got, want), 1e-12);
  const at::Tensor g = at::randn(want.sizes(), at::kDouble);
  const auto ours = torch::autograd::grad({got}, {q, k, v}, {g});
  const auto theirs = torch::autograd::grad({want}, {q, k, v}, {g});
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_LT(Distance(ours[i], theirs[i]), 1e-12) << i;
}

// Notes the bytes that this thread has of LibTorch.
class UsedMemory final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    used += bytes;
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t used = 0;
};

// Regression: 9 bytes of each score were planned in FP32, and 5 in BF16.
TEST(AttendTest, DropoutKeepsAsMuchOfEachScoreAsThePlannerCounts) {
  const struct {
    at::ScalarType type;
    planner::Precision precision;
  } kCases[] = {{at::kFloat, planner::Precision::kFp32},
                {at::kBFloat16, planner::Precision::kBf16},
                {at::kDouble, planner::Precision::kFp64}};
  constexpr int64_t kLong = 256;
  for (const auto& c : kCases) {
    const auto leaf = [&] {
      return at::randn({kBatch, kHeads, kLong, kWidth}, at::TensorOptions().dtype(c.type))
          .requires_grad_(true);
    };
    const at::Tensor q = leaf(), k = leaf(), v = leaf();
    MicroBatchContext context;
    context.training = true;
    context.samples = {0, 1};
    const auto memory = std::make_shared<UsedMemory>();
    at::Tensor out;
    {
      const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, memory);
      out = Attend({q, k, v, {}}, {.probability = 0.1}, context);
    }
    const int64_t scores = kBatch * kHeads * kLong * kLong;
    const int64_t kept = scores * planner::DropoutBytesPerScore(c.precision);
    // Beside the scores there are the mask of the future, scaled queries and the output.
    const int64_t rest = kLong * kLong + 6 * static_cast<int64_t>(q.nbytes());
    EXPECT_GE(memory->used, kept) << c.type;
    EXPECT_LE(memory->used, kept + rest) << c.type;
  }
}

TEST(AttendTest, QueriesShareHeadsOfKeysInEqualRuns) {
  const at::Tensor q = Leaf(kHeads), k = Leaf(2), v = Leaf(2);
  const auto twice = [](const at::Tensor& x) {
    const at::Tensor a = x.narrow(1, 0, 1), b = x.narrow(1, 1, 1);
    return at::cat({a, a, b, b}, 1);
  };
  const at::Tensor got = Attend({q, k, v, {}}, {}, {});
  const at::Tensor want = Attend({q, twice(k), twice(v), {}}, {}, {});
  EXPECT_TRUE(at::equal(got, want));
  const at::Tensor g = at::randn(want.sizes(), at::kDouble);
  const auto ours = torch::autograd::grad({got}, {q, k, v}, {g});
  const auto theirs = torch::autograd::grad({want}, {q, k, v}, {g});
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_LT(Distance(ours[i], theirs[i]), 1e-12) << i;
}

// A probability too small to drop anything takes the path of dropout.
TEST(AttendTest, DropoutsPathComputesTheSame) {
  const at::Tensor q = Leaf(kHeads), k = Leaf(2), v = Leaf(2);
  MicroBatchContext context;
  context.samples = {0, 1};
  for (const at::Tensor& bias : {at::Tensor(), Biases(at::kDouble)}) {
    const at::Tensor plain = Attend({q, k, v, bias}, {}, context);
    EXPECT_LT(Distance(Attend({q, k, v, bias}, {.probability = 1e-9}, context), plain), 1e-12);
    const at::Tensor half = Attend({q, k, v, bias}, {.probability = 0.5}, context);
    EXPECT_GT(Distance(half, plain), 0.01);
    context.training = false;
    EXPECT_TRUE(at::equal(Attend({q, k, v, bias}, {.probability = 0.5}, context), plain));
    context.training = true;
  }
}

TEST(AttendTest, Bf16TakesBiasesInFp32) {
  const at::Tensor q = Leaf(kHeads, at::kFloat), k = Leaf(kHeads, at::kFloat),
                   v = Leaf(kHeads, at::kFloat);
  const at::Tensor bias = Biases(at::kFloat);
  const auto narrow = [](const at::Tensor& x) { return x.to(at::kBFloat16); };
  const at::Tensor got = Attend({narrow(q), narrow(k), narrow(v), bias}, {}, {});
  EXPECT_EQ(got.scalar_type(), at::kBFloat16);
  EXPECT_LT(Distance(got.to(at::kFloat), Plain(q, k, v, bias)), 0.05);
}

}  // namespace
}  // namespace muster::trainer
