#ifndef MUSTER_TRAINER_PARALLEL_SUM_TREE_H_
#define MUSTER_TRAINER_PARALLEL_SUM_TREE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace muster::trainer {

// The fixed binary tree along which deterministic mode sums: over n leaves, the left child takes
// the largest power of two below n. The order of additions does not depend on which rank computed a
// leaf. Pure.

struct TreeNode {
  int64_t begin = 0;
  int64_t end = 0;  // exclusive

  int64_t leaves() const { return end - begin; }
  bool operator==(const TreeNode&) const = default;
};

// Returns the size of the left child of a node of `leaves` >= 2 leaves.
int64_t TreeSplit(int64_t leaves);

// Returns the largest nodes of the tree over `leaves` that lie within [begin, end), left to right:
// a rank with that range of leaves sends these.
std::vector<TreeNode> MaximalNodes(int64_t leaves, int64_t begin, int64_t end);

// Returns true if a and b (a left of b) are the two children of one node of the tree over `leaves`.
bool AreSiblings(int64_t leaves, const TreeNode& a, const TreeNode& b);

// Returns the sum of all leaves in tree order; 0 without leaves.
double TreeSum(std::span<const double> leaves);

// Returns the contiguous range of `leaves` that belongs to rank `rank` of `world`: floor(n*r/W) ..
// floor(n*(r+1)/W).
TreeNode RankRange(int64_t leaves, int rank, int world);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PARALLEL_SUM_TREE_H_
