#include "trainer/engine/step/chunk_share.h"

#include <algorithm>

#include "ATen/ops/cat.h"
#include "ATen/ops/empty.h"
#include "trainer/kernels/kernels.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {
namespace {

// Returns the sums of squares of a run of the unit's chunks, on the unit's device.
at::Tensor SumChunks(const Unit& unit, const TreeNode& run) {
  const HeldSlice& held = unit.held();
  const at::Tensor part =
      ChunksOf(held.gradients, {run.begin - held.chunks.begin, run.end - held.chunks.begin});
  return KernelsOf(part).ChunkSquares(part, run.leaves());
}

}  // namespace

SummedChunks SumOwnChunks(const std::vector<Unit>& units, int copy, int copies) {
  int64_t held = 0;
  for (const Unit& unit : units) held += unit.held().chunks.leaves();
  const TreeNode mine = RankRange(held, copy, copies);
  SummedChunks out;
  std::vector<at::Tensor> sums;
  int64_t first_held = 0, first_of_unit = 0;
  for (const Unit& unit : units) {
    const TreeNode& slice = unit.held().chunks;
    const TreeNode run = {
        slice.begin + std::clamp(mine.begin - first_held, int64_t{0}, slice.leaves()),
        slice.begin + std::clamp(mine.end - first_held, int64_t{0}, slice.leaves())};
    if (run.leaves() > 0) sums.push_back(SumChunks(unit, run));
    for (int64_t c = run.begin; c < run.end; ++c) out.chunks.push_back(first_of_unit + c);
    first_held += slice.leaves();
    first_of_unit += unit.layout().chunks();
  }
  // The host waits for the device here, once for all units. It copies no number once more, for the
  // device has nothing to do until the vote.
  out.squares = sums.empty() ? at::empty({0}, at::kDouble) : at::cat(sums).cpu();
  return out;
}

}  // namespace muster::trainer
