#include "trainer/engine/chunk_share.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "trainer/parallel/chunk_sums.h"
#include "trainer/parallel/chunk_view.h"
#include "trainer/parallel/sum_tree.h"

namespace muster::trainer {
namespace {

void SumChunks(const Unit& unit, const TreeNode& run, int64_t first_of_unit, SummedChunks& out) {
  const HeldSlice& held = unit.held();
  const at::Tensor part =
      ChunksOf(held.gradients, {run.begin - held.chunks.begin, run.end - held.chunks.begin});
  const auto size = static_cast<size_t>(part.numel());
  const size_t before = out.squares.size();
  out.squares.resize(before + static_cast<size_t>(run.leaves()));
  const std::span<double> into = std::span(out.squares).subspan(before);
  if (part.scalar_type() == at::kDouble) {
    ChunkSquares(std::span(part.const_data_ptr<double>(), size), into);
  } else {
    ChunkSquares(std::span(part.const_data_ptr<float>(), size), into);
  }
  for (int64_t c = run.begin; c < run.end; ++c) out.chunks.push_back(first_of_unit + c);
}

}  // namespace

SummedChunks SumOwnChunks(const std::vector<Unit>& units, int copy, int copies) {
  int64_t held = 0;
  for (const Unit& unit : units) held += unit.held().chunks.leaves();
  const TreeNode mine = RankRange(held, copy, copies);
  SummedChunks out;
  int64_t first_held = 0, first_of_unit = 0;
  for (const Unit& unit : units) {
    const TreeNode& slice = unit.held().chunks;
    const TreeNode run = {
        slice.begin + std::clamp(mine.begin - first_held, int64_t{0}, slice.leaves()),
        slice.begin + std::clamp(mine.end - first_held, int64_t{0}, slice.leaves())};
    if (run.leaves() > 0) SumChunks(unit, run, first_of_unit, out);
    first_held += slice.leaves();
    first_of_unit += unit.layout().chunks();
  }
  return out;
}

}  // namespace muster::trainer
