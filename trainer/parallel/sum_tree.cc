#include "trainer/parallel/sum_tree.h"

#include <bit>

namespace muster::trainer {
namespace {

void Collect(const TreeNode& node, const TreeNode& range, std::vector<TreeNode>& out) {
  if (node.end <= range.begin || node.begin >= range.end) return;
  if (node.begin >= range.begin && node.end <= range.end) {
    out.push_back(node);
    return;
  }
  const int64_t middle = node.begin + TreeSplit(node.leaves());
  Collect({node.begin, middle}, range, out);
  Collect({middle, node.end}, range, out);
}

}  // namespace

int64_t TreeSplit(int64_t leaves) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(leaves - 1)));
}

std::vector<TreeNode> MaximalNodes(int64_t leaves, int64_t begin, int64_t end) {
  std::vector<TreeNode> out;
  if (begin < end) Collect({0, leaves}, {begin, end}, out);
  return out;
}

bool AreSiblings(int64_t leaves, const TreeNode& a, const TreeNode& b) {
  if (a.end != b.begin) return false;
  TreeNode node{0, leaves};
  while (node.leaves() >= 2) {
    const int64_t middle = node.begin + TreeSplit(node.leaves());
    if (node == TreeNode{a.begin, b.end}) return middle == a.end;
    node = a.begin < middle ? TreeNode{node.begin, middle} : TreeNode{middle, node.end};
  }
  return false;
}

double TreeSum(std::span<const double> leaves) {
  if (leaves.empty()) return 0.0;
  if (leaves.size() == 1) return leaves[0];
  const auto left = static_cast<size_t>(TreeSplit(static_cast<int64_t>(leaves.size())));
  return TreeSum(leaves.first(left)) + TreeSum(leaves.subspan(left));
}

TreeNode RankRange(int64_t leaves, int rank, int world) {
  return {leaves * rank / world, leaves * (rank + 1) / world};
}

}  // namespace muster::trainer
