#include "trainer/model/layers/tensor_parallel.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/randint.h"
#include "ATen/ops/randn.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/head_loss.h"
#include "trainer/model/partition.h"
#include "trainer/random/element_run.h"

namespace muster::trainer {
namespace {

constexpr int kRanks = 3;

// Runs on the ranks of a tensor axis, which are threads.
void OnRanks(const std::function<void(int rank, const MicroBatchContext&)>& run) {
  const auto communicators = MakeLocalCommunicators({.size = kRanks});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      MicroBatchContext context;
      context.axes.tensor = communicators[static_cast<size_t>(rank)].get();
      run(rank, context);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

at::Tensor Leaf(const at::Tensor& tensor) { return tensor.clone().requires_grad_(true); }

TEST(TensorParallelTest, GatheringGivesTheWholeSequenceAndAddsUpItsGradients) {
  at::manual_seed(3);
  for (const int64_t batch : {1, 2}) {
    const at::Tensor whole = at::randn({batch, 3 * 4, 5}), g = at::randn({batch, 3 * 4, 5});
    OnRanks([&](int rank, const MicroBatchContext& context) {
      const at::Tensor x = Leaf(OwnRun(whole, 1, context));
      const at::Tensor y = GatherSequence(x, context);
      EXPECT_TRUE(at::equal(y, whole));
      // Rank r sends back r + 1 times g, so each run gets 1 + 2 + 3 times its own.
      torch::autograd::backward({y}, {g.mul(rank + 1)});
      EXPECT_TRUE(x.grad().allclose(OwnRun(g, 1, context).mul(6)));
    });
  }
}

TEST(TensorParallelTest, ReducingGivesEachRankItsRunOfTheSum) {
  at::manual_seed(4);
  for (const int64_t batch : {1, 2}) {
    const at::Tensor whole = at::randn({batch, 3 * 4, 5}), g = at::randn({batch, 3 * 4, 5});
    OnRanks([&](int rank, const MicroBatchContext& context) {
      const at::Tensor x = Leaf(whole.mul(rank + 1));
      const at::Tensor y = ReduceToSequence(x, context);
      EXPECT_TRUE(y.allclose(OwnRun(whole, 1, context).mul(6)));
      torch::autograd::backward({y}, {OwnRun(g, 1, context).contiguous()});
      EXPECT_TRUE(at::equal(x.grad(), g));
    });
  }
}

TEST(TensorParallelTest, OneRankNeedsNoCommunication) {
  const MicroBatchContext context;
  const at::Tensor x = at::randn({2, 6, 5});
  EXPECT_TRUE(GatherSequence(x, context).is_same(x));
  EXPECT_TRUE(ReduceToSequence(x, context).is_same(x));
  EXPECT_EQ(PartOf(context), ModelPart{});
}

// A rank that is lost while another one is in its backward pass.
TEST(TensorParallelTest, ABrokenCollectiveKeepsItsStatusThroughAutograd) {
  auto communicators = MakeLocalCommunicators({.size = 2});
  MicroBatchContext contexts[2];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    contexts[rank].axes.tensor = communicators[static_cast<size_t>(rank)].get();
    threads.emplace_back([&, rank] {
      const at::Tensor x = Leaf(at::randn({1, 4, 5}));
      const at::Tensor y = GatherSequence(x, contexts[rank]);
      if (rank == 1) return communicators[1].reset();
      std::optional<absl::Status> status;
      try {
        torch::autograd::backward({y.sum()});
      } catch (const CommunicationError& error) {
        status = error.status();
      }
      ASSERT_TRUE(status.has_value());
      EXPECT_EQ(status->code(), absl::StatusCode::kUnavailable) << *status;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// 31 columns are 10, 10 and 11 of three ranks; the second size has several chunks of rows.
TEST(TensorParallelTest, TheLossOfADividedVocabularyIsThatOfTheWhole) {
  at::manual_seed(5);
  for (const int64_t vocabulary : {31, 90'001}) {
    const int64_t rows = 120, width = 8;
    const at::Tensor x = at::randn({rows, width}, at::kDouble);
    const at::Tensor weight = at::randn({vocabulary, width}, at::kDouble);
    at::Tensor labels = at::randint(vocabulary, {rows}, at::kLong);
    labels[5] = kIgnoredLabel;
    const at::Tensor whole_x = Leaf(x), whole_weight = Leaf(weight);
    const at::Tensor whole = HeadLoss(whole_x, whole_weight, labels, at::kDouble);
    torch::autograd::backward({whole});
    std::vector<at::Tensor> x_shares(kRanks), weight_parts(kRanks);
    OnRanks([&](int rank, const MicroBatchContext& context) {
      const ElementRun columns = PiecesOfPart({.pieces = vocabulary}, PartOf(context));
      const at::Tensor own_x = Leaf(x);
      const at::Tensor own_weight = Leaf(weight.narrow(0, columns.begin, columns.count));
      const at::Tensor loss = HeadLoss(
          own_x, own_weight, labels, at::kDouble, {},
          {.group = context.axes.tensor, .first = columns.begin, .vocabulary = vocabulary});
      EXPECT_NEAR(loss.item<double>(), whole.item<double>(), 1e-12 * whole.item<double>());
      torch::autograd::backward({loss});
      x_shares[static_cast<size_t>(rank)] = own_x.grad();
      weight_parts[static_cast<size_t>(rank)] = own_weight.grad();
    });
    at::Tensor sum = x_shares[0].clone();
    for (int rank = 1; rank < kRanks; ++rank) sum.add_(x_shares[static_cast<size_t>(rank)]);
    EXPECT_TRUE(sum.allclose(whole_x.grad(), 1e-10, 1e-12));
    EXPECT_TRUE(at::cat(weight_parts).allclose(whole_weight.grad(), 1e-10, 1e-12));
  }
}

}  // namespace
}  // namespace muster::trainer
