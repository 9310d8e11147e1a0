#include "trainer/engine/step/gradient_reducer.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/engine/step/rounded_sums.h"
#include "trainer/engine/step/slice_gather.h"
#include "trainer/parallel/flat_memory.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/sum_tree.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

constexpr size_t kMostRoundedUnderWay = 2;

class FastReducer final : public GradientReducer {
 public:
  FastReducer(std::vector<Unit>& units, const RoundGroups& groups, const SentGradients& sent)
      : units_(units), groups_(groups), sent_(sent) {}

  void Begin(int64_t step) override {
    step_ = step;
    pending_.clear();
    cleared_.assign(units_.size(), false);
  }
  absl::Status MicroBatchBegins(int unit) override {
    ClearOnce(unit);
    return absl::OkStatus();
  }
  void MicroBatchDone(int, int) override {}
  absl::Status Reduce(int unit) override {
    ClearOnce(unit);  // a rank that has no micro-batch sends zeros
    const Unit& reduced = units_[static_cast<size_t>(unit)];
    Communicator& ranks = ReplicasOf(groups_, reduced.layout());
    if (ranks.size() == 1) return absl::OkStatus();
    if (sent_.numbers != SentNumbers::kWhole) {
      if (pending_.size() == kMostRoundedUnderWay) {
        MUSTER_RETURN_IF_ERROR(pending_.front()->Wait());
        pending_.pop_front();
      }
      pending_.push_back(RoundedAllReduce(ranks, sent_.numbers,
                                          {sent_.seed, sent_.rank, step_, unit},
                                          reduced.gradients(), reduced.layout().name));
      return absl::OkStatus();
    }
    pending_.push_back(
        ranks.AllReduce(LeaseMemory(reduced.gradients()), ReduceOp::kSum, reduced.layout().name));
    return absl::OkStatus();
  }
  absl::Status Finish() override {
    for (auto& pending : pending_) MUSTER_RETURN_IF_ERROR(pending->Wait());
    pending_.clear();
    return absl::OkStatus();
  }

 private:
  // Zeros a unit's gradients in its first backward pass: a device waits for the host when a step
  // begins, and the host for the device by then.
  void ClearOnce(int unit) {
    const auto u = static_cast<size_t>(unit);
    if (!cleared_[u]) at::Tensor(units_[u].gradients()).zero_();
    cleared_[u] = true;
  }

  std::vector<Unit>& units_;
  const RoundGroups groups_;
  const SentGradients sent_;
  int64_t step_ = 0;
  std::deque<std::unique_ptr<Pending>> pending_;
  std::vector<bool> cleared_;  // by unit
};

// A partial sum over one node of the tree, of one unit.
struct Partial {
  TreeNode node;
  at::Tensor sum;
};

class DeterministicReducer final : public GradientReducer {
 public:
  DeterministicReducer(std::vector<Unit>& units, const RoundGroups& groups, int64_t micro_batches)
      : units_(units),
        communicator_(WorkersOf(groups)),
        context_(groups.axes.context),
        sequence_(groups.sequence),
        ends_(groups.ends),
        gather_(communicator_),
        micro_batches_(micro_batches),
        own_slices_(groups.shard != nullptr && groups.shard->size() == communicator_.size()),
        range_(RankRange(micro_batches, communicator_.rank(), communicator_.size())),
        stacks_(units.size()),
        spare_(units.size()) {}

  void Begin(int64_t) override {
    exchanges_.clear();
    for (size_t u = 0; u < units_.size(); ++u) {
      at::Tensor(units_[u].gradients()).zero_();
      for (Partial& partial : stacks_[u]) spare_[u].push_back(std::move(partial.sum));
      stacks_[u].clear();
    }
  }

  absl::Status MicroBatchBegins(int) override { return absl::OkStatus(); }

  // Pushes the leaf and merges while the two topmost partial sums are siblings.
  void MicroBatchDone(int unit, int micro_batch) override {
    std::vector<Partial>& stack = stacks_[unit];
    const int64_t leaf = range_.begin + micro_batch;
    at::Tensor gradient = units_[unit].gradients();
    Partial top{{leaf, leaf + 1}, TakeSpare(unit)};
    top.sum.copy_(gradient);
    gradient.zero_();
    stack.push_back(std::move(top));
    while (stack.size() >= 2 &&
           AreSiblings(micro_batches_, stack[stack.size() - 2].node, stack.back().node)) {
      Partial& left = stack[stack.size() - 2];
      left.sum.add_(stack.back().sum);
      left.node.end = stack.back().node.end;
      spare_[unit].push_back(std::move(stack.back().sum));
      stack.pop_back();
    }
  }

  absl::Status Reduce(int unit) override {
    if (communicator_.size() == 1) {
      at::Tensor(units_[unit].gradients()).copy_(stacks_[unit].back().sum);
      return absl::OkStatus();
    }
    Exchange exchange{.unit = unit};
    exchange.input = PackNodes(unit, exchange.input_counts);
    const TreeNode mine = Slice(unit, communicator_.rank());
    int64_t total = 0;
    for (int r = 0; r < communicator_.size(); ++r) {
      const TreeNode range = RankRange(micro_batches_, r, communicator_.size());
      for (const TreeNode& node : MaximalNodes(micro_batches_, range.begin, range.end)) {
        exchange.received.push_back({node, {}});
      }
      const auto nodes = static_cast<int64_t>(exchange.received.size());
      exchange.output_counts.push_back(nodes * mine.leaves() - total);
      total = nodes * mine.leaves();
    }
    exchange.output = at::empty({total}, exchange.input.options());
    exchange.pending = communicator_.AllToAllV(
        exchange.output, exchange.output_counts, exchange.input, exchange.input_counts,
        absl::StrCat(units_[unit].layout().name, " (nodes)"));
    exchanges_.push_back(std::move(exchange));
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    for (Exchange& exchange : exchanges_) {
      MUSTER_RETURN_IF_ERROR(exchange.pending->Wait());
      AddInTreeOrder(exchange);
      if (own_slices_) continue;
      const Unit& unit = units_[exchange.unit];
      MUSTER_RETURN_IF_ERROR(
          gather_.Start(unit.gradients(), absl::StrCat(unit.layout().name, " (sums)")));
    }
    exchanges_.clear();
    MUSTER_RETURN_IF_ERROR(gather_.Finish());
    return AddParts();
  }

 private:
  struct Exchange {
    int unit = 0;
    at::Tensor input, output;
    std::vector<int64_t> input_counts, output_counts;
    std::vector<Partial> received;  // of all ranks, left to right: they tile the tree
    std::unique_ptr<Pending> pending;
  };

  // Adds up the shares that ranks have of a gradient because they divide sequences: along the
  // context axis those of every unit, along the tensor axis those of whole units. Then adds those
  // of two stages that have a unit.
  absl::Status AddParts() const {
    const auto is_whole = [this](const UnitLayout& unit) {
      return sequence_ != nullptr && !unit.is_part;
    };
    MUSTER_RETURN_IF_ERROR(SumOver(sequence_, is_whole));
    MUSTER_RETURN_IF_ERROR(
        SumOver(context_, [&](const UnitLayout& unit) { return !is_whole(unit); }));
    return SumOver(ends_, [](const UnitLayout& unit) { return unit.stages.size() > 1; });
  }
  template <typename IsSummed>
  absl::Status SumOver(Communicator* group, const IsSummed& is_summed) const {
    std::vector<std::unique_ptr<Pending>> sums;
    for (const Unit& unit : units_) {
      const at::Tensor& held = own_slices_ ? unit.held().gradients : unit.gradients();
      if (group == nullptr || !is_summed(unit.layout()) || held.numel() == 0) continue;
      sums.push_back(group->AllReduce(held, ReduceOp::kSum, unit.layout().name));
    }
    for (const auto& sum : sums) MUSTER_RETURN_IF_ERROR(sum->Wait());
    return absl::OkStatus();
  }

  at::Tensor TakeSpare(int unit) {
    std::vector<at::Tensor>& spare = spare_[unit];
    if (spare.empty()) return at::empty_like(units_[unit].gradients());
    at::Tensor buffer = std::move(spare.back());
    spare.pop_back();
    return buffer;
  }

  // The run of whole chunks that a rank adds up, in elements.
  TreeNode Slice(int unit, int rank) const {
    const TreeNode chunks = SliceOf(units_[unit].layout().chunks(), {rank, communicator_.size()});
    return {chunks.begin * kChunkElements, chunks.end * kChunkElements};
  }

  // Packs, for each owner in turn, its slice of every node of this rank.
  at::Tensor PackNodes(int unit, std::vector<int64_t>& counts) const {
    const std::vector<Partial>& stack = stacks_[unit];
    const auto nodes = static_cast<int64_t>(stack.size());
    at::Tensor packed =
        at::empty({nodes * units_[unit].layout().elements}, units_[unit].gradients().options());
    int64_t at_element = 0;
    for (int r = 0; r < communicator_.size(); ++r) {
      const TreeNode slice = Slice(unit, r);
      counts.push_back(nodes * slice.leaves());
      if (slice.leaves() == 0) continue;
      for (const Partial& partial : stack) {
        packed.narrow(0, at_element, slice.leaves())
            .copy_(partial.sum.narrow(0, slice.begin, slice.leaves()));
        at_element += slice.leaves();
      }
    }
    return packed;
  }

  // Leaves the total of this rank's slice in the unit's gradients.
  void AddInTreeOrder(Exchange& exchange) const {
    const TreeNode slice = Slice(exchange.unit, communicator_.rank());
    const int64_t mine = slice.leaves();
    if (mine == 0) return;
    std::vector<Partial> stack;
    for (size_t i = 0; i < exchange.received.size(); ++i) {
      stack.push_back({exchange.received[i].node,
                       exchange.output.narrow(0, static_cast<int64_t>(i) * mine, mine)});
      while (stack.size() >= 2 &&
             AreSiblings(micro_batches_, stack[stack.size() - 2].node, stack.back().node)) {
        Partial& left = stack[stack.size() - 2];
        left.sum.add_(stack.back().sum);
        left.node.end = stack.back().node.end;
        stack.pop_back();
      }
    }
    units_[exchange.unit].gradients().narrow(0, slice.begin, mine).copy_(stack.back().sum);
  }

  std::vector<Unit>& units_;
  Communicator& communicator_;  // the workers
  Communicator* const context_;
  Communicator* const sequence_;
  Communicator* const ends_;
  SliceGather gather_;
  const int64_t micro_batches_;
  const bool own_slices_;
  const TreeNode range_;
  std::vector<std::vector<Partial>> stacks_;    // by unit
  std::vector<std::vector<at::Tensor>> spare_;  // buffers to use again, by unit
  std::vector<Exchange> exchanges_;
};

}  // namespace

std::unique_ptr<GradientReducer> MakeFastReducer(std::vector<Unit>& units,
                                                 const RoundGroups& groups,
                                                 const SentGradients& sent) {
  return std::make_unique<FastReducer>(units, groups, sent);
}

std::unique_ptr<GradientReducer> MakeDeterministicReducer(std::vector<Unit>& units,
                                                          const RoundGroups& groups,
                                                          int64_t micro_batches) {
  return std::make_unique<DeterministicReducer>(units, groups, micro_batches);
}

int64_t DeterministicExtraBytes(int64_t gradient_bytes, int64_t micro_batches, int world) {
  int64_t nodes = 0;
  for (int r = 0; r < world; ++r) {
    const TreeNode range = RankRange(micro_batches, r, world);
    nodes += static_cast<int64_t>(MaximalNodes(micro_batches, range.begin, range.end).size());
  }
  return (nodes - world) * gradient_bytes;
}

}  // namespace muster::trainer
