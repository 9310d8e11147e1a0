#include "tests/parity/matrix/rows.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "tests/parity/matrix/pairwise.h"

namespace muster::trainer {
namespace {

struct Layout {
  int zero = 0;
  bool copies = false;
  int tensor = 1;
  int pipeline = 1;
  int context = 1;
  ContextExchange exchange = ContextExchange::kHeads;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
};

struct Rest {
  bool optimizer = false;
  bool weights = false;
};

// The axes. Two copies that are divided take four ranks, and only divided weights rest in files.
constexpr ContextExchange kRing = ContextExchange::kRing;
constexpr PipelineSchedule kZeroBubble = PipelineSchedule::kZeroBubble;
constexpr PipelineSchedule kInterleaved = PipelineSchedule::kInterleaved;
constexpr PipelineSchedule kZeroBubbleV = PipelineSchedule::kZeroBubbleV;
constexpr Layout kLayouts[] = {{.zero = 0},
                               {.zero = 1},
                               {.zero = 2},
                               {.zero = 3},
                               {.zero = 1, .copies = true},
                               {.zero = 2, .copies = true},
                               {.zero = 3, .copies = true},
                               {.zero = 0, .tensor = 2},
                               {.zero = 0, .tensor = 4},
                               {.zero = 1, .tensor = 2},
                               {.zero = 2, .tensor = 2},
                               {.zero = 3, .tensor = 2},
                               {.zero = 0, .pipeline = 2},
                               {.zero = 0, .pipeline = 3},
                               {.zero = 0, .pipeline = 4},
                               {.zero = 1, .pipeline = 2},
                               {.zero = 2, .pipeline = 2},
                               {.zero = 3, .pipeline = 2},
                               {.zero = 0, .tensor = 2, .pipeline = 2},
                               {.zero = 0, .context = 2},
                               {.zero = 0, .context = 2, .exchange = kRing},
                               {.zero = 0, .context = 4},
                               {.zero = 0, .context = 4, .exchange = kRing},
                               {.zero = 1, .context = 2, .exchange = kRing},
                               {.zero = 2, .context = 2},
                               {.zero = 3, .context = 2, .exchange = kRing},
                               {.zero = 0, .tensor = 2, .context = 2},
                               {.zero = 0, .tensor = 2, .context = 2, .exchange = kRing},
                               {.zero = 0, .pipeline = 2, .context = 2, .exchange = kRing},
                               {.zero = 0, .pipeline = 2, .schedule = kZeroBubble},
                               {.zero = 0, .pipeline = 4, .schedule = kZeroBubble},
                               {.zero = 1, .pipeline = 2, .schedule = kZeroBubble},
                               {.zero = 0, .pipeline = 2, .schedule = kInterleaved},
                               {.zero = 3, .pipeline = 2, .schedule = kInterleaved},
                               {.zero = 0, .pipeline = 2, .schedule = kZeroBubbleV},
                               {.zero = 3, .pipeline = 2, .schedule = kZeroBubbleV}};
constexpr int kRanks[] = {2, 3, 4};
// The micro-batches of a step, by the number of workers: one for each, the same number for each,
// and more for some than for others. Each divides kToyBatch.
constexpr int kMicroBatches[][5] = {{0, 1, 2, 3, 4}, {0, 2, 4, 6, 12}, {0, 3, 3, 4, 6}};
constexpr const char* kOptimizers[] = {"adamw", "sgd", "lamb", "muon"};
constexpr Rest kRests[] = {{}, {true}, {true, true}};
constexpr int kRecomputeEvery[] = {0, 1, 2};

MatrixRow RowOf(const Combination& combination) {
  const auto value = [&](size_t axis) { return static_cast<size_t>(combination[axis]); };
  const Layout& layout = kLayouts[value(0)];
  const Rest& rest = kRests[value(4)];
  return {.zero = layout.zero,
          .copies = layout.copies,
          .ranks = kRanks[value(1)],
          .tensor = layout.tensor,
          .pipeline = layout.pipeline,
          .context = layout.context,
          .exchange = layout.exchange,
          .schedule = layout.schedule,
          .micro_batches = kMicroBatches[value(
              2)][kRanks[value(1)] / (layout.tensor * layout.pipeline * layout.context)],
          .optimizer = kOptimizers[value(3)],
          .optimizer_rests = rest.optimizer,
          .weights_rest = rest.weights,
          .activations = {.recompute_every = kRecomputeEvery[value(5)]}};
}

}  // namespace

MeshShape MatrixRow::mesh() const {
  const int data = zero == 0 ? workers() : copies ? 2 : 1;
  return {.pipeline = pipeline,
          .data = data,
          .shard = workers() / data,
          .context = context,
          .tensor = tensor};
}

OffloadOptions MatrixRow::offload() const {
  if (!optimizer_rests) return {};
  return {.optimizer = true, .weights = weights_rest, .directory = "/state"};
}

v1alpha1::ParallelismSpec MatrixRow::parallelism() const {
  v1alpha1::ParallelismSpec spec;
  spec.set_zero(zero);
  spec.set_tensor(tensor);
  spec.set_pipeline(pipeline);
  spec.set_context(context);
  if (schedule == kInterleaved) spec.set_chunks(chunks());
  if (schedule == kZeroBubbleV) spec.set_schedule("ZeroBubbleV");
  if (copies) spec.set_shard(mesh().shard);
  return spec;
}

std::string MatrixRow::name() const {
  const std::string layout = zero == 0 ? "data parallel" : absl::StrCat("ZeRO ", zero);
  const char* const rest = weights_rest      ? ", optimizer and weights in files"
                           : optimizer_rests ? ", optimizer in files"
                                             : "";
  return absl::StrCat(
      layout, copies ? " x 2 copies" : "", tensor > 1 ? absl::StrCat(", tensor ", tensor) : "",
      pipeline > 1 ? absl::StrCat(", pipeline ", pipeline) : "",
      schedule == kZeroBubble    ? ", zero bubble"
      : schedule == kInterleaved ? ", interleaved"
      : schedule == kZeroBubbleV ? ", zero bubble of folded stages"
                                 : "",
      context > 1 ? absl::StrCat(", context ", context) : "", exchange == kRing ? " in a ring" : "",
      ", ", ranks, " ranks, ", micro_batches, " micro-batches", rest,
      activations.recompute_every > 0
          ? absl::StrCat(", 1 of ", activations.recompute_every, " recomputed")
          : "",
      activations.format == planner::SavedFormat::kBf16   ? ", saved in BF16"
      : activations.format == planner::SavedFormat::kInt8 ? ", saved in INT8"
                                                          : "");
}

std::vector<MatrixRow> MatrixRows(bool pairwise, const Heads& heads) {
  const std::vector<int> sizes = {
      std::size(kLayouts),      std::size(kRanks),
      std::size(kMicroBatches), std::size(kOptimizers),
      std::size(kRests),        pairwise ? static_cast<int>(std::size(kRecomputeEvery)) : 1};
  const std::vector<Combination> product = Product(sizes, [&](const Combination& combination) {
    const MatrixRow row = RowOf(combination);
    if (row.ranks % row.together() != 0 || heads.keys % row.tensor != 0) return false;
    if (row.exchange == ContextExchange::kHeads &&
        heads.queries % (row.tensor * row.context) != 0) {
      return false;
    }
    // One worker has nothing to divide its state with, and no share that is unlike another's.
    if (row.workers() == 1 && (row.zero > 0 || combination[2] == 2)) return false;
    return (!row.copies || row.ranks == 4) && (!row.weights_rest || row.zero == 3);
  });
  std::vector<MatrixRow> rows;
  for (const Combination& chosen : pairwise ? PairwiseCover(product) : product) {
    MatrixRow& row = rows.emplace_back(RowOf(chosen));
    if (pairwise) continue;
    row.activations.recompute_every = kRecomputeEvery[rows.size() % std::size(kRecomputeEvery)];
  }
  return rows;
}

std::vector<MatrixRow> NarrowRows() {
  const std::vector<MatrixRow> both = {
      {.zero = 0, .ranks = 2},
      {.zero = 2, .copies = true, .ranks = 4},
      {.zero = 3, .ranks = 3, .optimizer_rests = true, .weights_rest = true},
      {.zero = 3, .ranks = 2, .optimizer = "lamb"},
      {.zero = 2, .ranks = 3, .optimizer = "muon"},
      // AdamW makes full steps of the rounding error that gradients near zero are.
      {.zero = 1, .ranks = 4, .tensor = 2, .optimizer = "sgd"},
      {.zero = 1, .ranks = 4, .pipeline = 2, .optimizer = "sgd"},
      {.zero = 1, .ranks = 4, .context = 2, .optimizer = "sgd"},
      {.zero = 2, .ranks = 4, .context = 2, .exchange = kRing, .optimizer = "sgd"}};
  std::vector<MatrixRow> rows;
  for (const char* const precision : {"bf16", "fp16"}) {
    for (const MatrixRow& row : both) {
      rows.push_back(row);
      rows.back().precision = precision;
    }
  }
  // The second half of a backward pass has gradients of the scaled loss, too.
  rows.push_back({.zero = 1,
                  .ranks = 4,
                  .pipeline = 2,
                  .schedule = kZeroBubble,
                  .precision = "fp16",
                  .optimizer = "sgd"});
  for (MatrixRow& row : rows) row.micro_batches = 4;
  return rows;
}

std::vector<MatrixRow> PackedRows() {
  constexpr planner::ActivationOptions kBf16 = {.format = planner::SavedFormat::kBf16};
  constexpr planner::ActivationOptions kInt8 = {.format = planner::SavedFormat::kInt8};
  constexpr planner::ActivationOptions kBoth = {.recompute_every = 2,
                                                .format = planner::SavedFormat::kInt8};
  std::vector<MatrixRow> rows = {
      {.zero = 1, .ranks = 4, .tensor = 2, .activations = kBf16},
      {.zero = 0, .ranks = 4, .pipeline = 2, .context = 2, .activations = kBf16},
      {.zero = 3, .ranks = 3, .optimizer_rests = true, .weights_rest = true, .activations = kBf16},
      {.zero = 2, .copies = true, .ranks = 4, .activations = kInt8},
      {.zero = 0, .ranks = 2, .pipeline = 2, .schedule = kZeroBubble, .activations = kInt8},
      {.zero = 3, .ranks = 2, .activations = kBoth},
      {.zero = 1, .ranks = 4, .pipeline = 2, .activations = kBoth}};
  for (MatrixRow& row : rows) {
    row.micro_batches = 6;
    // AdamW makes full steps of an error near zero, such as the rare number that is rounded another
    // way because layouts add in another order.
    row.optimizer = "sgd";
  }
  return rows;
}

}  // namespace muster::trainer
