#include "trainer/engine/step/slice_gather.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ATen/ops/empty_like.h"
#include "base/status_macros.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/flat_memory.h"
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
  return Start(flat, SliceOfRank(flat, group_.rank(), group_.size()), label);
}

absl::Status SliceGather::Start(const at::Tensor& flat, const at::Tensor& slice,
                                const std::string& label) {
  if (group_.size() > 1) return StartAs(flat, flat, slice, label);
  if (!slice.is_alias_of(flat)) flat.copy_(slice);
  return absl::OkStatus();
}

absl::Status SliceGather::StartInBf16(const at::Tensor& flat, const at::Tensor& slice,
                                      const std::string& label) {
  const at::Tensor rounded = slice.to(at::kBFloat16);
  if (group_.size() > 1) {
    return StartAs(at::empty_like(flat, flat.options().dtype(at::kBFloat16)), flat, rounded, label);
  }
  flat.copy_(rounded);
  return absl::OkStatus();
}

absl::Status SliceGather::StartAs(const at::Tensor& sent, const at::Tensor& flat,
                                  const at::Tensor& slice, const std::string& label) {
  const int ranks = group_.size();
  if (gathers_.size() == kMostUnderWay) MUSTER_RETURN_IF_ERROR(FinishOldest());
  const int64_t chunks = flat.numel() / kChunkElements;
  if (chunks % ranks == 0) {
    const at::Tensor input = slice.is_alias_of(flat) ? slice.clone() : slice;
    gathers_.push_back({.flat = flat,
                        .sent = sent,
                        .pending = group_.AllGather(LeaseMemory(sent), LeaseMemory(input), label)});
    return absl::OkStatus();
  }
  // Slices differ by one chunk, and the collective's inputs are equal. Sending a copy to each rank
  // needs one buffer of the unit's size, as much as padded slices would for its output alone.
  std::vector<int64_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(SliceOfRank(flat, r, ranks).numel());
  at::Tensor copies = slice.repeat({ranks});
  gathers_.push_back({.flat = flat,
                      .sent = sent,
                      .pending = group_.AllToAllV(
                          LeaseMemory(sent), std::move(counts), copies,
                          std::vector<int64_t>(static_cast<size_t>(ranks), slice.numel()), label)});
  return absl::OkStatus();
}

absl::Status SliceGather::FinishOf(const at::Tensor& flat) {
  const auto is_under_way = [&] {
    return std::any_of(gathers_.begin(), gathers_.end(),
                       [&](const Gather& gather) { return gather.flat.is_same(flat); });
  };
  while (is_under_way()) MUSTER_RETURN_IF_ERROR(FinishOldest());
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
  if (!gather.sent.is_same(gather.flat)) gather.flat.copy_(gather.sent);
  return absl::OkStatus();
}

}  // namespace muster::trainer
