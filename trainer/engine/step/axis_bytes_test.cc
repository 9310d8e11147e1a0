// Tests that ranks along an axis send each other as many bytes as the arithmetic of the layout
// says.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/link/round_groups.h"
#include "trainer/engine/link/sent_numbers.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/testing/forwarding_communicator.h"
#include "trainer/engine/testing/local_groups.h"
#include "trainer/engine/testing/synthetic_feed.h"
#include "trainer/engine/testing/train_ranks.h"
#include "trainer/model/sequence_order.h"

namespace muster::trainer {
namespace {

// Counts the bytes that this rank gets from others, as the best algorithm for each operation would
// have it, by the kind of operation.
class CountingCommunicator final : public ForwardingCommunicator {
 public:
  explicit CountingCommunicator(Communicator& inner) : ForwardingCommunicator(inner) {}

  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    Count("all-reduce", 2 * Bytes(tensor) * (size() - 1) / size());
    return ForwardingCommunicator::AllReduce(std::move(tensor), op, label);
  }
  std::unique_ptr<Pending> ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                         std::string_view label) override {
    Count("reduce-scatter", Bytes(input) - Bytes(output));
    return ForwardingCommunicator::ReduceScatter(std::move(output), std::move(input), op, label);
  }
  std::unique_ptr<Pending> AllGather(at::Tensor output, at::Tensor input,
                                     std::string_view label) override {
    Count("all-gather", Bytes(output) - Bytes(input));
    return ForwardingCommunicator::AllGather(std::move(output), std::move(input), label);
  }
  std::unique_ptr<Pending> AllToAllV(at::Tensor output, std::vector<int64_t> output_counts,
                                     at::Tensor input, std::vector<int64_t> input_counts,
                                     std::string_view label) override {
    const int64_t own = output_counts[static_cast<size_t>(rank())];
    Count("all-to-all", Bytes(output) - own * static_cast<int64_t>(output.itemsize()));
    return ForwardingCommunicator::AllToAllV(std::move(output), std::move(output_counts),
                                             std::move(input), std::move(input_counts), label);
  }
  std::unique_ptr<Pending> Recv(at::Tensor tensor, int from, std::string_view label) override {
    Count("messages", Bytes(tensor));
    return ForwardingCommunicator::Recv(std::move(tensor), from, label);
  }

  int64_t Of(const std::string& kind) const {
    const auto found = bytes_.find(kind);
    return found == bytes_.end() ? 0 : found->second;
  }

 private:
  static int64_t Bytes(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }
  void Count(const std::string& kind, int64_t bytes) { bytes_[kind] += bytes; }

  std::map<std::string, int64_t> bytes_;
};

constexpr int64_t kLayers = 3, kWidth = 32, kKeyWidth = 16, kSequence = 16, kBatch = 2;
constexpr int64_t kMicroBatches = 6;
constexpr int64_t kTokens = kSequence * kBatch;  // of a micro-batch
constexpr int64_t kNumber = sizeof(double);

planner::ModelShape Shape() {
  planner::ModelShape shape = {.family = planner::ModelFamily::kLlama,
                               .layers = kLayers,
                               .heads = 4,
                               .width = kWidth,
                               .positions = kSequence,
                               .vocabulary = 62,
                               .tied_head = false};
  shape.key_value_heads = 2;
  shape.feed_forward_width = 48;
  return shape;
}

TrainingOptions Options() {
  TrainingOptions options = TinyOptions();
  options.types.parameters = options.types.compute = at::kDouble;
  options.sequence = kSequence;
  options.micro_batch = kBatch;
  options.micro_batches = kMicroBatches;
  return options;
}

// Runs one step, up to its vote. `watch` returns the group of a rank whose bytes are counted, to be
// put in its place. Returns the counts by rank.
using Watch = Communicator*& (*)(RoundGroups&);
std::vector<std::unique_ptr<CountingCommunicator>> CountStep(const MeshShape& mesh,
                                                             const TrainingOptions& options,
                                                             Watch watch) {
  LocalGroups groups(mesh);
  std::vector<std::unique_ptr<CountingCommunicator>> counts(static_cast<size_t>(mesh.size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < mesh.size(); ++r) {
    threads.emplace_back([&, r] {
      const auto state = MakeRankState(Shape(), options, mesh, r);
      ASSERT_NE(state, nullptr);
      RoundGroups of_rank = groups.Of(r);
      Communicator*& watched = watch(of_rank);
      counts[static_cast<size_t>(r)] = std::make_unique<CountingCommunicator>(*watched);
      watched = counts[static_cast<size_t>(r)].get();
      const std::atomic<bool> interrupt = false;
      PhaseTimer timer(Clock::Real(), Phase::kOther);
      SyntheticFeed feed(options, Shape().vocabulary);
      Engine engine(*state, feed, timer, interrupt);
      const absl::Status begun = engine.BeginAlone(of_rank);
      ASSERT_TRUE(begun.ok()) << begun;
      const absl::Status computed = engine.ComputeGradients();
      EXPECT_TRUE(computed.ok()) << computed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return counts;
}

Communicator*& TensorOf(RoundGroups& groups) { return groups.axes.tensor; }
Communicator*& ContextOf(RoundGroups& groups) { return groups.axes.context; }
Communicator*& StagesOf(RoundGroups& groups) { return groups.stages; }
Communicator*& ShardOf(RoundGroups& groups) { return groups.shard; }
Communicator*& WorldOf(RoundGroups& groups) { return groups.world; }

// Each layer gathers the inputs of two column parallel products and scatters the outputs of two row
// parallel ones; so does the head with its input, and the embedding with its output. A backward
// pass does the opposite at each place (Korthikanti et al., 2022, section 4.2.2).
TEST(AxisBytesTest, TensorRanksGatherAndScatterTwiceALayer) {
  const int64_t stream = kTokens * kWidth * kNumber / 2;
  for (const auto& count : CountStep({.tensor = 2}, Options(), &TensorOf)) {
    EXPECT_EQ(count->Of("all-gather"), kMicroBatches * (4 * kLayers + 2) * stream);
    EXPECT_EQ(count->Of("reduce-scatter"), kMicroBatches * (4 * kLayers + 2) * stream);
  }
}

// Stages pass on one tensor and get its gradient back. The first outputs of each block that passes
// on have a header of 64 numbers.
TEST(AxisBytesTest, StagesPassOnTheStreamOnceForEachMicroBatch) {
  const int64_t stream = kTokens * kWidth * kNumber;
  const auto two = CountStep({.pipeline = 2}, Options(), &StagesOf);
  EXPECT_EQ(two[0]->Of("messages"), kMicroBatches * stream);
  EXPECT_EQ(two[1]->Of("messages"), kMicroBatches * stream + 64 * 8);
  TrainingOptions options = Options();
  options.pipeline_schedule = PipelineSchedule::kInterleaved;
  options.chunks = 2;
  const auto chunks = CountStep({.pipeline = 2}, options, &StagesOf);
  EXPECT_EQ(chunks[0]->Of("messages"), kMicroBatches * 3 * stream + 64 * 8);
  EXPECT_EQ(chunks[1]->Of("messages"), kMicroBatches * 3 * stream + 2 * 64 * 8);
}

// Queries, keys and values go to the ranks that have their heads, and outputs come back (Jacobs et
// al., 2023); keys and values have as many heads as the ranks can divide. A ring passes each rank's
// keys and values on to all others; the backward pass does so again, with their gradients.
TEST(AxisBytesTest, ContextRanksExchangeHeadsOrPassKeysAndValuesOn) {
  TrainingOptions options = Options();
  const int64_t tokens = kTokens / 2;  // of a rank
  const int64_t heads =
      kMicroBatches * kLayers * tokens * kNumber * (2 * kWidth + 2 * kKeyWidth) / 2;
  for (const auto& count : CountStep({.context = 2}, options, &ContextOf)) {
    EXPECT_EQ(count->Of("all-to-all"), 2 * heads);
  }
  options.context_exchange = ContextExchange::kRing;
  const int64_t keys = kMicroBatches * kLayers * tokens * kNumber * 2 * kKeyWidth;
  for (const auto& count : CountStep({.context = 2}, options, &ContextOf)) {
    // One turn forward. Back, one with the keys and two with gradients, which end where they
    // belong.
    EXPECT_EQ(count->Of("all-to-all"), (1 + 1 + 2) * keys);
  }
}

// Rounded numbers take as many bytes as SentBytes() says, which counts FP64 scales here.
struct Sent {
  CommunicationOptions communication;
  double weights = 1.0, gradients = 1.0;  // of the bytes of FP64
};
const Sent kSent[] = {
    {{}},
    {{SentNumbers::kBf16, SentNumbers::kBf16}, 0.25, 0.25},
    {{SentNumbers::kInt8, SentNumbers::kWhole}, 1.0, 0.125 * (1.0 + 8.0 / 256.0)},
};

std::vector<int64_t> BytesOfBlocks() {
  const auto whole = MakeRankState(Shape(), Options(), {}, 0);
  EXPECT_NE(whole, nullptr);
  std::vector<int64_t> bytes;
  for (const Unit& unit : whole->units()) bytes.push_back(unit.layout().elements * kNumber);
  EXPECT_EQ(bytes.size(), size_t{kLayers + 2});
  return bytes;
}

// A rank gets its slice of every unit from each other rank, and the sums of all other slices.
TEST(AxisBytesTest, CopiesAddUpRoundedGradientsInTwoExchanges) {
  const std::vector<int64_t> bytes = BytesOfBlocks();
  const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  for (const Sent& sent : kSent) {
    TrainingOptions options = Options();
    options.communication.gradients = sent.communication.gradients;
    int64_t exchanged = 0;
    for (const auto& count : CountStep({.data = 2}, options, &WorldOf)) {
      exchanged += count->Of("all-reduce") + count->Of("all-to-all");
    }
    EXPECT_EQ(static_cast<double>(exchanged), 2.0 * static_cast<double>(all) * sent.gradients);
  }
}

// ZeRO 3 gathers a unit for each pass and scatters its gradients once for each micro-batch
// (Rajbhandari et al., 2020, section 7.2.2). A unit stays for two passes in a row: the head's from
// forward to backward, and the embedding's from one micro-batch to the next.
TEST(AxisBytesTest, ShardsGatherValuesTwiceAndScatterGradientsOnce) {
  const std::vector<int64_t> bytes = BytesOfBlocks();
  TrainingOptions options = Options();
  options.divided = {.values = true, .gradients = true};
  const MeshShape mesh{.shard = 2};
  const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  const int64_t rounds = kMicroBatches / 2;
  const int64_t gathered = rounds * 2 * all - rounds * bytes.back() - (rounds - 1) * bytes.front();
  const int64_t scattered = rounds * all;
  for (const Sent& sent : kSent) {
    options.communication = sent.communication;
    // Each rank gets what the other one has, so that both together get everything.
    int64_t exchanged = 0;
    for (const auto& count : CountStep(mesh, options, &ShardOf)) {
      exchanged += count->Of("all-gather") + count->Of("all-to-all") + count->Of("reduce-scatter");
    }
    // The whole gradients are gathered at the end, for this test alone.
    EXPECT_EQ(static_cast<double>(exchanged), static_cast<double>(gathered) * sent.weights +
                                                  static_cast<double>(scattered) * sent.gradients +
                                                  static_cast<double>(all));
  }
}

}  // namespace
}  // namespace muster::trainer
