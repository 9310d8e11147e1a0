#include "trainer/parallel/slices.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

// Returns the parts of `wanted` outside `held`.
std::vector<TreeNode> Missing(const TreeNode& wanted, const TreeNode& held) {
  std::vector<TreeNode> out;
  const TreeNode before = {wanted.begin, std::min(wanted.end, held.begin)};
  const TreeNode after = {std::max(wanted.begin, held.end), wanted.end};
  if (held.leaves() == 0) return {wanted};
  if (before.leaves() > 0) out.push_back(before);
  if (after.leaves() > 0) out.push_back(after);
  return out;
}

// Cuts `run` at every place where the slice of a holder begins or ends.
std::vector<TreeNode> CutAtSlices(const TreeNode& run, const std::vector<TreeNode>& slices) {
  std::vector<int64_t> cuts = {run.begin, run.end};
  for (const TreeNode& slice : slices) {
    for (const int64_t at : {slice.begin, slice.end}) {
      if (run.begin < at && at < run.end) cuts.push_back(at);
    }
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<TreeNode> pieces;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) pieces.push_back({cuts[i], cuts[i + 1]});
  return pieces;
}

// Returns the rank that holds all of `piece` and has the least to send; -1 if none holds it.
int DonorOf(const TreeNode& piece, const std::vector<TreeNode>& slices,
            const std::vector<int64_t>& sent) {
  int donor = -1;
  for (int rank = 0; rank < static_cast<int>(slices.size()); ++rank) {
    const TreeNode& slice = slices[static_cast<size_t>(rank)];
    if (slice.begin > piece.begin || slice.end < piece.end) continue;
    if (donor < 0 || sent[static_cast<size_t>(rank)] < sent[static_cast<size_t>(donor)]) {
      donor = rank;
    }
  }
  return donor;
}

}  // namespace

TreeNode SliceOf(int64_t chunks, const Shard& shard) {
  return RankRange(chunks, shard.index, shard.count);
}

absl::StatusOr<std::vector<SliceMove>> PlanMoves(int64_t chunks,
                                                 std::span<const std::optional<Shard>> held,
                                                 std::span<const std::optional<Shard>> wanted,
                                                 std::vector<int64_t>& sent) {
  std::vector<TreeNode> slices;
  for (const auto& shard : held) slices.push_back(shard ? SliceOf(chunks, *shard) : TreeNode{});
  std::vector<SliceMove> moves;
  for (int to = 0; to < static_cast<int>(wanted.size()); ++to) {
    const auto rank = static_cast<size_t>(to);
    if (!wanted[rank]) continue;
    for (const TreeNode& run : Missing(SliceOf(chunks, *wanted[rank]), slices[rank])) {
      for (const TreeNode& piece : CutAtSlices(run, slices)) {
        const int from = DonorOf(piece, slices, sent);
        if (from < 0) {
          return absl::InternalError(absl::StrCat("no rank holds chunks ", piece.begin, " to ",
                                                  piece.end - 1, " of ", chunks, ", which rank ",
                                                  to, " is to receive"));
        }
        sent[static_cast<size_t>(from)] += piece.leaves();
        moves.push_back({from, to, piece});
      }
    }
  }
  return moves;
}

}  // namespace muster::trainer
