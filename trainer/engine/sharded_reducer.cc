#include <deque>
#include <utility>

#include "ATen/ops/empty.h"
#include "base/status_macros.h"
#include "trainer/engine/gradient_reducer.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

// The exchanges under way keep a gradient each, so more of them would cost what the division saves.
constexpr size_t kMostUnderWay = 2;

class ShardedReducer final : public GradientReducer {
 public:
  ShardedReducer(std::vector<Unit>& units, Communicator& shard, Communicator& replicas)
      : units_(units), shard_(shard), replicas_(replicas) {}

  void Begin() override {
    exchanges_.clear();
    sums_.clear();
    for (Unit& unit : units_) at::Tensor(unit.gradients()).zero_();
  }
  void MicroBatchDone(int, int) override {}

  absl::Status Reduce(int unit) override {
    if (exchanges_.size() == kMostUnderWay) MUSTER_RETURN_IF_ERROR(AddOldest());
    const at::Tensor gradients = units_[static_cast<size_t>(unit)].gradients();
    Exchange exchange{.unit = unit};
    std::vector<int64_t> input_counts;
    for (int r = 0; r < shard_.size(); ++r) {
      input_counts.push_back(SliceOfRank(unit, r).leaves() * kChunkElements);
    }
    const int64_t mine = input_counts[static_cast<size_t>(shard_.rank())];
    exchange.received = at::empty({mine * shard_.size()}, gradients.options());
    exchange.pending = shard_.AllToAllV(
        exchange.received, std::vector<int64_t>(static_cast<size_t>(shard_.size()), mine),
        gradients, std::move(input_counts), units_[static_cast<size_t>(unit)].layout().name);
    exchanges_.push_back(std::move(exchange));
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    while (!exchanges_.empty()) MUSTER_RETURN_IF_ERROR(AddOldest());
    for (const auto& sum : sums_) MUSTER_RETURN_IF_ERROR(sum->Wait());
    sums_.clear();
    return absl::OkStatus();
  }

 private:
  struct Exchange {
    int unit = 0;
    at::Tensor received;  // this rank's slice, from each rank of the shard group in turn
    std::unique_ptr<Pending> pending;
  };

  TreeNode SliceOfRank(int unit, int rank) const {
    return SliceOf(units_[static_cast<size_t>(unit)].layout().chunks(), {rank, shard_.size()});
  }

  // Adds what the ranks of the shard group sent, by rank, then starts the sum over the copies.
  absl::Status AddOldest() {
    Exchange exchange = std::move(exchanges_.front());
    exchanges_.pop_front();
    MUSTER_RETURN_IF_ERROR(exchange.pending->Wait());
    const TreeNode slice = SliceOfRank(exchange.unit, shard_.rank());
    if (slice.leaves() == 0) return absl::OkStatus();
    const Unit& unit = units_[static_cast<size_t>(exchange.unit)];
    at::Tensor sum = ChunksOf(unit.gradients(), slice);
    sum.zero_();
    for (int r = 0; r < shard_.size(); ++r) {
      sum.add_(exchange.received.narrow(0, r * sum.numel(), sum.numel()));
    }
    if (replicas_.size() > 1) {
      sums_.push_back(replicas_.AllReduce(sum, ReduceOp::kSum, unit.layout().name));
    }
    return absl::OkStatus();
  }

  std::vector<Unit>& units_;
  Communicator& shard_;
  Communicator& replicas_;
  std::deque<Exchange> exchanges_;
  std::vector<std::unique_ptr<Pending>> sums_;
};

}  // namespace

std::unique_ptr<GradientReducer> MakeShardedReducer(std::vector<Unit>& units, Communicator& shard,
                                                    Communicator& replicas) {
  return std::make_unique<ShardedReducer>(units, shard, replicas);
}

}  // namespace muster::trainer
