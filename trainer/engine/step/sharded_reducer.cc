#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "ATen/ops/empty.h"
#include "base/status_macros.h"
#include "trainer/engine/step/gradient_reducer.h"
#include "trainer/engine/step/rounded_sums.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/flat_memory.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

// The exchanges under way keep a gradient each, so more of them would cost what the division saves.
constexpr size_t kMostUnderWay = 2;

class ShardedReducer final : public GradientReducer {
 public:
  ShardedReducer(std::vector<Unit>& units, const RoundGroups& groups, const SentGradients& sent,
                 int rounds)
      : units_(units),
        groups_(groups),
        sent_(sent),
        shard_(*groups.shard),
        rounds_(rounds),
        left_(units.size()) {}

  void Begin(int64_t step) override {
    step_ = step;
    exchanges_.clear();
    sums_.clear();
    for (size_t u = 0; u < units_.size(); ++u) {
      const Unit& unit = units_[u];
      left_[u] = unit.divides_gradients() ? rounds_ : 1;
      unit.ReleaseGradients();
      (unit.divides_gradients() ? unit.held().gradients : unit.gradients()).zero_();
    }
  }

  absl::Status MicroBatchBegins(int unit) override {
    const auto is_under_way = [&] {
      return std::any_of(exchanges_.begin(), exchanges_.end(),
                         [&](const Exchange& exchange) { return exchange.unit == unit; });
    };
    while (is_under_way()) MUSTER_RETURN_IF_ERROR(AddOldest());
    units_[static_cast<size_t>(unit)].AllocateGradients();
    return absl::OkStatus();
  }
  void MicroBatchDone(int, int) override {}

  absl::Status Reduce(int unit) override {
    // A rank that has no micro-batch in this round sends zeros.
    MUSTER_RETURN_IF_ERROR(MicroBatchBegins(unit));
    if (exchanges_.size() == kMostUnderWay) MUSTER_RETURN_IF_ERROR(AddOldest());
    const at::Tensor gradients = units_[static_cast<size_t>(unit)].gradients();
    Exchange exchange{.unit = unit};
    std::vector<int64_t> input_counts;
    for (int r = 0; r < shard_.size(); ++r) {
      input_counts.push_back(SliceOfRank(unit, r).leaves() * kChunkElements);
    }
    const int64_t mine = input_counts[static_cast<size_t>(shard_.rank())];
    exchange.received = at::empty({mine * shard_.size()}, gradients.options());
    const std::vector<int64_t> equal(static_cast<size_t>(shard_.size()), mine);
    const std::string& name = units_[static_cast<size_t>(unit)].layout().name;
    exchange.pending = sent_.numbers == SentNumbers::kWhole
                           ? shard_.AllToAllV(exchange.received, equal, LeaseMemory(gradients),
                                              std::move(input_counts), name)
                           : RoundedAllToAll(shard_, sent_.numbers, KeyOf(unit), exchange.received,
                                             equal, gradients, std::move(input_counts), name);
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

  // Returns the key of the unit's next exchange in this step.
  RoundingKey KeyOf(int unit) const {
    return {sent_.seed, sent_.rank, step_, unit, left_[static_cast<size_t>(unit)]};
  }
  TreeNode SliceOfRank(int unit, int rank) const {
    return SliceOf(units_[static_cast<size_t>(unit)].layout().chunks(), {rank, shard_.size()});
  }

  // Adds what the ranks of the shard group sent, by rank; after the last time for a unit starts the
  // sum over the copies.
  absl::Status AddOldest() {
    Exchange exchange = std::move(exchanges_.front());
    exchanges_.pop_front();
    MUSTER_RETURN_IF_ERROR(exchange.pending->Wait());
    const Unit& unit = units_[static_cast<size_t>(exchange.unit)];
    unit.ReleaseGradients();
    const at::Tensor& sum = unit.held().gradients;
    const bool last = --left_[static_cast<size_t>(exchange.unit)] == 0;
    if (sum.numel() == 0) return absl::OkStatus();
    // The slice of a whole gradient still has this rank's own part, which came back with the
    // others.
    if (!unit.divides_gradients()) sum.zero_();
    for (int r = 0; r < shard_.size(); ++r) {
      sum.add_(exchange.received.narrow(0, r * sum.numel(), sum.numel()));
    }
    Communicator& replicas = ReplicasOf(groups_, unit.layout());
    if (!last || replicas.size() == 1) return absl::OkStatus();
    sums_.push_back(sent_.numbers == SentNumbers::kWhole
                        ? replicas.AllReduce(sum, ReduceOp::kSum, unit.layout().name)
                        : RoundedAllReduce(replicas, sent_.numbers, KeyOf(exchange.unit), sum,
                                           unit.layout().name));
    return absl::OkStatus();
  }

  std::vector<Unit>& units_;
  const RoundGroups groups_;
  const SentGradients sent_;
  Communicator& shard_;
  const int rounds_;
  int64_t step_ = 0;
  std::vector<int> left_;  // by unit, the exchanges of this step that are not added yet
  std::deque<Exchange> exchanges_;
  std::vector<std::unique_ptr<Pending>> sums_;
};

}  // namespace

std::unique_ptr<GradientReducer> MakeShardedReducer(std::vector<Unit>& units,
                                                    const RoundGroups& groups,
                                                    const SentGradients& sent, int rounds) {
  return std::make_unique<ShardedReducer>(units, groups, sent, rounds);
}

}  // namespace muster::trainer
