#ifndef MUSTER_TRAINER_PARALLEL_SUM_TREE_H_
#define MUSTER_TRAINER_PARALLEL_SUM_TREE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace muster::trainer {

// The fixed binary tree that deterministic mode sums on: over n leaves, the left child takes the
// largest power of two below n. Who computed a leaf does not change the order of additions. Pure.

struct TreeNode {
  int64_t begin = 0;
  int64_t end = 0;  // exclusive

  int64_t leaves() const { return end - begin; }
  bool operator==(const TreeNode&) const = default;
};

// Where a node of `leaves` >= 2 leaves is split, as the size of its left child.
int64_t TreeSplit(int64_t leaves);

// The largest nodes of the tree over `leaves` that lie within [begin, end), left to right: what a
// rank with that range of leaves has to send.
std::vector<TreeNode> MaximalNodes(int64_t leaves, int64_t begin, int64_t end);

// Whether a and b (a left of b) are the two children of one node of the tree over `leaves`.
bool AreSiblings(int64_t leaves, const TreeNode& a, const TreeNode& b);

// Sum of all leaves in tree order; 0 for none.
double TreeSum(std::span<const double> leaves);

// The contiguous range of `leaves` that rank `rank` of `world` has: floor(n*r/W) ..
// floor(n*(r+1)/W).
TreeNode RankRange(int64_t leaves, int rank, int world);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_SUM_TREE_H_
