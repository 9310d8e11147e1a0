#include "trainer/model/layers/attention.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "ATen/Context.h"
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
#include "trainer/comm/local_communicator.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/alibi.h"
#include "trainer/model/layers/dropout.h"
#include "trainer/model/sequence_order.h"

namespace muster::trainer {
namespace {

constexpr int64_t kBatch = 2, kHeads = 4, kSequence = 6, kWidth = 8;

at::Tensor Leaf(int64_t heads, at::ScalarType type = at::kDouble) {
  return at::randn({kBatch, heads, kSequence, kWidth}, at::TensorOptions().dtype(type))
      .requires_grad_(true);
}

at::Tensor Positions(int64_t sequence) {
  return at::arange(sequence, at::TensorOptions().dtype(at::kLong));
}

std::shared_ptr<AlibiTable> Alibi() { return std::make_shared<AlibiTable>(kHeads); }

at::Tensor Biases(at::ScalarType type) {
  return Alibi()->For(Positions(kSequence), {0, kHeads}, type);
}

MicroBatchContext Context(int64_t sequence = kSequence) {
  MicroBatchContext context;
  context.positions = Positions(sequence);
  context.samples = {0, 1};
  return context;
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
  const at::Tensor got = Attend({q, k, v, Alibi()}, {}, Context());
  const at::Tensor want = Plain(q, k, v, Biases(at::kDouble));
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
                {at::kHalf, planner::Precision::kFp16},
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
  MicroBatchContext context = Context();
  for (const std::shared_ptr<AlibiTable>& alibi : {std::shared_ptr<AlibiTable>(), Alibi()}) {
    const at::Tensor plain = Attend({q, k, v, alibi}, {}, context);
    EXPECT_LT(Distance(Attend({q, k, v, alibi}, {.probability = 1e-9}, context), plain), 1e-12);
    const at::Tensor half = Attend({q, k, v, alibi}, {.probability = 0.5}, context);
    EXPECT_GT(Distance(half, plain), 0.01);
    context.training = false;
    EXPECT_TRUE(at::equal(Attend({q, k, v, alibi}, {.probability = 0.5}, context), plain));
    context.training = true;
  }
}

TEST(AttendTest, NarrowTypesTakeBiasesInFp32) {
  const at::Tensor q = Leaf(kHeads, at::kFloat), k = Leaf(kHeads, at::kFloat),
                   v = Leaf(kHeads, at::kFloat);
  for (const auto& [type, tolerance] :
       {std::tuple{at::kBFloat16, 0.05}, std::tuple{at::kHalf, 0.005}}) {
    const auto narrow = [&](const at::Tensor& x) { return x.to(type); };
    const at::Tensor got = Attend({narrow(q), narrow(k), narrow(v), Alibi()}, {}, Context());
    EXPECT_EQ(got.scalar_type(), type);
    EXPECT_LT(Distance(got.to(at::kFloat), Plain(q, k, v, Biases(at::kFloat))), tolerance);
  }
}

// The inputs of attention as a whole, and the ranks that divide its sequence.
struct Case {
  ContextExchange exchange = ContextExchange::kHeads;
  int ranks = 2;
  int64_t key_heads = kHeads;
  bool biased = false;
  double dropout = 0.0;
  at::ScalarType type = at::kDouble;
};

class AcrossRanksTest : public testing::TestWithParam<Case> {};

// Runs attention among the ranks of a context axis, which are threads, and compares its results and
// all gradients with those of one rank.
TEST_P(AcrossRanksTest, ResultsAndGradientsAreThoseOfOneRank) {
  const Case& c = GetParam();
  at::manual_seed(7);
  const int64_t sequence = 24, own = sequence / c.ranks;
  const auto leaf = [&](int64_t heads) {
    return at::randn({kBatch, heads, sequence, kWidth}, at::TensorOptions().dtype(c.type))
        .requires_grad_(true);
  };
  const std::vector<at::Tensor> whole = {leaf(kHeads), leaf(c.key_heads), leaf(c.key_heads)};
  const at::Tensor g =
      at::randn({kBatch, sequence, kHeads * kWidth}, at::TensorOptions().dtype(c.type));
  const DropoutPlace dropout{.probability = c.dropout, .site = DropoutSite::kAttention};
  const auto alibi = [&] { return c.biased ? Alibi() : nullptr; };
  const at::Tensor want =
      Attend({whole[0], whole[1], whole[2], alibi()}, dropout, Context(sequence)).view(g.sizes());
  const auto wanted = torch::autograd::grad({want}, whole, {g});

  std::vector<at::Tensor> rows;  // of each rank
  for (int rank = 0; rank < c.ranks; ++rank) {
    std::vector<at::Tensor> runs;
    for (const auto& run : RunsOfSequence(c.exchange, rank, c.ranks, sequence)) {
      runs.push_back(Positions(sequence).narrow(0, run.begin, run.count));
    }
    rows.push_back(at::cat(runs));
  }
  const auto communicators = MakeLocalCommunicators({.size = c.ranks});
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      MicroBatchContext context = Context(sequence);
      context.axes.context = communicators[rank].get();
      context.exchange = c.exchange;
      context.positions = rows[rank];
      context.all_positions = at::cat(rows);
      std::vector<at::Tensor> parts;
      for (const at::Tensor& x : whole) {
        parts.push_back(x.detach().index_select(2, rows[rank]).requires_grad_(true));
      }
      const at::Tensor got = Attend({parts[0], parts[1], parts[2], alibi()}, dropout, context)
                                 .view({kBatch, own, kHeads * kWidth});
      const double near = c.type == at::kDouble  ? 1e-12
                          : c.type == at::kFloat ? 1e-5
                          : c.type == at::kHalf  ? 0.01
                                                 : 0.1;
      EXPECT_LE(Distance(got, want.detach().index_select(1, rows[rank])), near);
      const auto gradients = torch::autograd::grad({got}, parts, {g.index_select(1, rows[rank])});
      for (size_t i = 0; i < parts.size(); ++i) {
        EXPECT_LE(Distance(gradients[i], wanted[i].index_select(2, rows[rank])), near)
            << "input " << i << " of rank " << rank;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

constexpr ContextExchange kHeadwise = ContextExchange::kHeads, kRing = ContextExchange::kRing;

INSTANTIATE_TEST_SUITE_P(
    Cases, AcrossRanksTest,
    testing::Values(
        Case{kHeadwise, 2}, Case{kHeadwise, 4}, Case{kHeadwise, 4, /*key_heads=*/2},
        Case{kHeadwise, 2, 2, /*biased=*/true}, Case{kHeadwise, 2, 2, false, /*dropout=*/0.3},
        Case{kHeadwise, 2, 2, true, 0.3}, Case{kRing, 2}, Case{kRing, 3},
        Case{kRing, 4, /*key_heads=*/1}, Case{kRing, 3, kHeads, /*biased=*/true},
        Case{kRing, 2, 2, false, /*dropout=*/0.3}, Case{kRing, 3, 2, true, 0.3},
        Case{kRing, 3, 2, false, 0.0, at::kFloat}, Case{kRing, 3, 2, true, 0.0, at::kBFloat16},
        Case{kHeadwise, 2, 2, true, 0.3, at::kHalf}, Case{kRing, 3, 2, true, 0.3, at::kHalf}));

TEST(AttendTest, HeadsThatRanksCannotShareAreNamed) {
  const auto communicators = MakeLocalCommunicators({.size = 3});
  MicroBatchContext context = Context();
  context.axes.context = communicators[0].get();
  const at::Tensor x = Leaf(kHeads);
  try {
    (void)Attend({x, x, x, nullptr}, {}, context);
    ADD_FAILURE() << "it ran";
  } catch (const c10::Error& error) {
    EXPECT_NE(error.msg().find("3 ranks cannot share 4 heads"), std::string::npos) << error.msg();
  }
}

}  // namespace
}  // namespace muster::trainer
