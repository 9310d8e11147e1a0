#include "trainer/engine/step/chunk_share.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "ATen/ops/cat.h"
#include "ATen/ops/empty.h"
#include "trainer/kernels/kernels.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/sum_tree.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

// Returns the sums of squares of a run of the unit's chunks, on the unit's device.
at::Tensor SumChunks(const Unit& unit, const TreeNode& run) {
  const HeldSlice& held = unit.held();
  const at::Tensor part =
      ChunksOf(held.gradients, {run.begin - held.chunks.begin, run.end - held.chunks.begin});
  return KernelsOf(part).ChunkSquares(part, run.leaves());
}

// Returns the chunks of each unit that are this rank's to sum: the ranks that hold the same slices
// of some units share those among themselves.
std::vector<TreeNode> OwnChunks(const std::vector<Unit>& units, const RoundGroups& groups) {
  std::map<const Communicator*, std::vector<size_t>> units_of;
  for (size_t u = 0; u < units.size(); ++u) {
    if (units[u].held().chunks.leaves() == 0) continue;
    units_of[&ReplicasOf(groups, units[u].layout())].push_back(u);
  }
  std::vector<TreeNode> out(units.size());
  for (const auto& [replicas, shared] : units_of) {
    int64_t held = 0, first_held = 0;
    for (const size_t u : shared) held += units[u].held().chunks.leaves();
    const TreeNode mine = RankRange(held, replicas->rank(), replicas->size());
    for (const size_t u : shared) {
      const TreeNode& slice = units[u].held().chunks;
      out[u] = {slice.begin + std::clamp(mine.begin - first_held, int64_t{0}, slice.leaves()),
                slice.begin + std::clamp(mine.end - first_held, int64_t{0}, slice.leaves())};
      first_held += slice.leaves();
    }
  }
  return out;
}

}  // namespace

SummedChunks SumOwnChunks(const std::vector<Unit>& units, const RoundGroups& groups) {
  const std::vector<TreeNode> own = OwnChunks(units, groups);
  SummedChunks out;
  std::vector<at::Tensor> sums;
  int64_t first_of_unit = 0;
  for (size_t u = 0; u < units.size(); ++u) {
    const UnitLayout& layout = units[u].layout();
    if (own[u].leaves() > 0) sums.push_back(SumChunks(units[u], own[u]));
    for (int64_t c = own[u].begin; c < own[u].end; ++c) {
      out.chunks.push_back(first_of_unit + layout.earlier_chunks + c);
    }
    first_of_unit += layout.all_chunks();
  }
  // The host waits for the device here, once for all units. It copies no number once more, for the
  // device has nothing to do until the vote.
  out.squares = sums.empty() ? at::empty({0}, at::kDouble) : at::cat(sums).cpu();
  return out;
}

}  // namespace muster::trainer
