#include "trainer/engine/slice_gather.h"

#include <cstdint>
#include <utility>

#include "ATen/ops/zeros.h"
#include "base/status_macros.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

constexpr size_t kMostUnderWay = 2;

// Returns a rank's slice of `flat`.
at::Tensor SliceOfRank(const at::Tensor& flat, int rank, int ranks) {
  return ChunksOf(flat, SliceOf(flat.numel() / kChunkElements, {rank, ranks}));
}

}  // namespace

absl::Status SliceGather::Start(const at::Tensor& flat, const std::string& label) {
  const int ranks = group_.size();
  if (ranks == 1) return absl::OkStatus();
  if (gathers_.size() == kMostUnderWay) MUSTER_RETURN_IF_ERROR(FinishOldest());
  const at::Tensor mine = SliceOfRank(flat, group_.rank(), ranks);
  const int64_t chunks = flat.numel() / kChunkElements;
  if (chunks % ranks == 0) {
    gathers_.push_back({.flat = flat, .pending = group_.AllGather(flat, mine.clone(), label)});
    return absl::OkStatus();
  }
  // Slices differ by one chunk and the collective's inputs are equal, so that some have padding.
  const int64_t widest = (chunks + ranks - 1) / ranks * kChunkElements;
  at::Tensor input = at::zeros({widest}, flat.options());
  input.narrow(0, 0, mine.numel()).copy_(mine);
  at::Tensor output = at::zeros({widest * ranks}, flat.options());
  gathers_.push_back(
      {.flat = flat, .output = output, .pending = group_.AllGather(output, input, label)});
  return absl::OkStatus();
}

absl::Status SliceGather::Finish() {
  while (!gathers_.empty()) MUSTER_RETURN_IF_ERROR(FinishOldest());
  return absl::OkStatus();
}

absl::Status SliceGather::FinishOldest() {
  Gather gather = std::move(gathers_.front());
  gathers_.pop_front();
  MUSTER_RETURN_IF_ERROR(gather.pending->Wait());
  if (!gather.output.defined()) return absl::OkStatus();
  const int ranks = group_.size();
  const int64_t widest = gather.output.numel() / ranks;
  for (int r = 0; r < ranks; ++r) {
    const at::Tensor slice = SliceOfRank(gather.flat, r, ranks);
    if (r != group_.rank() && slice.numel() > 0) {
      slice.copy_(gather.output.narrow(0, r * widest, slice.numel()));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
