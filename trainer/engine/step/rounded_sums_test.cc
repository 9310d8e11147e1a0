#include "trainer/engine/step/rounded_sums.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/TensorIndexing.h"
#include "ATen/TensorOperators.h"
#include "ATen/core/Tensor.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "planner/activations.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

constexpr int64_t kChunks = 4;
constexpr SentNumbers kRounded[] = {SentNumbers::kBf16, SentNumbers::kInt8};

// Returns numbers of all magnitudes from 1e-6 on, other ones for each rank.
at::Tensor NumbersOf(int rank, c10::ScalarType type) {
  const at::Tensor n = at::arange(kChunks * kChunkElements, at::kDouble).add_(7.0 * rank);
  return n.mul(0.37).sin_().mul_(n.mul(0.011).cos_().mul_(7.0).exp_()).mul_(1e-3).to(type);
}

void OnRanks(int ranks, const std::function<void(Communicator&)>& body) {
  auto communicators = MakeLocalCommunicators({.size = ranks});
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) threads.emplace_back([&] { body(*communicator); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<at::Tensor> SumOnRanks(int ranks, SentNumbers numbers, c10::ScalarType type,
                                   int64_t step) {
  std::vector<at::Tensor> sums(static_cast<size_t>(ranks));
  OnRanks(ranks, [&](Communicator& group) {
    const at::Tensor tensor = NumbersOf(group.rank(), type);
    const RoundingKey key = {.seed = 5, .rank = group.rank(), .step = step, .unit = 2};
    const absl::Status status = RoundedAllReduce(group, numbers, key, tensor, "sum")->Wait();
    EXPECT_TRUE(status.ok()) << status;
    sums[static_cast<size_t>(group.rank())] = tensor;
  });
  return sums;
}

// Returns the most by which rounding may change each number.
at::Tensor Bound(const at::Tensor& numbers, SentNumbers sent) {
  const at::Tensor x = numbers.to(at::kDouble).abs();
  if (sent == SentNumbers::kBf16) return x.mul(0x1p-8);
  const at::Tensor largest = std::get<0>(x.view({-1, planner::kInt8Block}).max(1, true));
  return largest.div(127.0).expand({-1, planner::kInt8Block}).reshape({-1});
}

TEST(RoundedSumsTest, SumsAreWithinTheStatedBoundsAndTheSameBitsOnEveryRank) {
  for (const SentNumbers sent : kRounded) {
    for (const c10::ScalarType type : {at::kFloat, at::kDouble}) {
      for (const int ranks : {2, 3, 5}) {
        at::Tensor want = at::zeros({kChunks * kChunkElements}, at::kDouble), bound = want.clone();
        for (int r = 0; r < ranks; ++r) {
          const at::Tensor numbers = NumbersOf(r, type);
          want.add_(numbers.to(at::kDouble));
          bound.add_(Bound(numbers, sent));
        }
        // The sum is rounded once more, and additions in FP32 have errors of their own.
        bound.mul_(1.01).add_(Bound(want.abs().add(bound), sent)).mul_(1.0 + 1e-5);
        const std::vector<at::Tensor> sums = SumOnRanks(ranks, sent, type, 1);
        for (const at::Tensor& sum : sums) {
          EXPECT_TRUE(at::equal(sum, sums[0]));
          EXPECT_TRUE((sum.to(at::kDouble) - want).abs().le(bound).all().item<bool>()) << ranks;
        }
      }
    }
  }
}

TEST(RoundedSumsTest, Int8IsRightInTheMeanWhereNearestRoundingLosesSmallNumbers) {
  constexpr int kSteps = 400;
  at::Tensor mean = at::zeros({kChunks * kChunkElements}, at::kDouble);
  for (int step = 0; step < kSteps; ++step) {
    mean.add_(SumOnRanks(2, SentNumbers::kInt8, at::kDouble, step)[0]);
  }
  mean.div_(kSteps);
  const at::Tensor a = NumbersOf(0, at::kDouble), b = NumbersOf(1, at::kDouble);
  // A number is rounded twice; a rounding to multiples of s has a variance of at most s^2 / 4.
  const at::Tensor sigma = Bound(a, SentNumbers::kInt8)
                               .square()
                               .add(Bound(b, SentNumbers::kInt8).square())
                               .add(Bound(a + b, SentNumbers::kInt8).mul(1.1).square())
                               .sqrt()
                               .mul(0.5 / std::sqrt(double{kSteps}));
  const at::Tensor off = (mean - (a + b)).abs();
  EXPECT_TRUE(off.le(sigma.mul(6.0)).all().item<bool>()) << off.div(sigma).max().item<double>();
}

TEST(RoundedSumsTest, TheSameStepHasTheSameBitsAndAnotherStepOthers) {
  const auto sum = [](int64_t step) {
    return SumOnRanks(3, SentNumbers::kInt8, at::kFloat, step)[0];
  };
  EXPECT_TRUE(at::equal(sum(4), sum(4)));
  EXPECT_FALSE(at::equal(sum(4), sum(5)));
}

TEST(RoundedSumsTest, ANumberThatIsNotFiniteIsNotHidden) {
  for (const SentNumbers sent : kRounded) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      OnRanks(2, [&](Communicator& group) {
        at::Tensor tensor = NumbersOf(group.rank(), at::kFloat);
        if (group.rank() == 1) tensor[5000] = bad;
        EXPECT_TRUE(RoundedAllReduce(group, sent, {}, tensor, "sum")->Wait().ok());
        EXPECT_FALSE(tensor.isfinite().all().item<bool>());
        EXPECT_TRUE(tensor.narrow(0, 0, kChunkElements).isfinite().all().item<bool>());
      });
    }
  }
}

TEST(RoundedSumsTest, AnAllToAllRoundsWhatLeavesTheRank) {
  const std::vector<int64_t> counts = {kChunkElements, 0, 3 * kChunkElements};
  for (const SentNumbers sent : kRounded) {
    OnRanks(3, [&](Communicator& group) {
      const auto mine = counts[static_cast<size_t>(group.rank())];
      at::Tensor output = at::empty({3 * mine}, at::kFloat);
      const RoundingKey key = {.rank = group.rank()};
      EXPECT_TRUE(RoundedAllToAll(group, sent, key, output, {mine, mine, mine},
                                  NumbersOf(group.rank(), at::kFloat), counts, "x")
                      ->Wait()
                      .ok());
      int64_t begin = 0;
      for (int r = 0; r < group.rank(); ++r) begin += counts[static_cast<size_t>(r)];
      for (int r = 0; r < 3 && mine > 0; ++r) {
        const at::Tensor exact = NumbersOf(r, at::kFloat).narrow(0, begin, mine);
        const at::Tensor got = output.narrow(0, r * mine, mine);
        EXPECT_EQ(at::equal(got, exact), r == group.rank());
        const at::Tensor off = (got.to(at::kDouble) - exact.to(at::kDouble)).abs();
        EXPECT_TRUE(off.le(Bound(exact, sent).mul(1.0 + 1e-5)).all().item<bool>()) << r;
      }
    });
  }
}

TEST(RoundedSumsTest, SentBytesAreHalfAndAboutAQuarter) {
  EXPECT_EQ(SentBytes(SentNumbers::kWhole, 4096, 4), 16384);
  EXPECT_EQ(SentBytes(SentNumbers::kBf16, 4096, 4), 8192);
  EXPECT_EQ(SentBytes(SentNumbers::kInt8, 4096, 4), 4096 + 16 * 4);
}

}  // namespace
}  // namespace muster::trainer
