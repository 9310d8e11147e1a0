#include "trainer/commit/judge_item.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::trainer {
namespace {

constexpr size_t kMostNamed = 8;

using Holder = SharedItem::Holder;

size_t SideOf(const Disagreement& difference, int rank) {
  size_t side = 0;
  while (difference.sides[side].count(rank) == 0) ++side;
  return side;
}

Disagreement Divide(const SharedItem& item) {
  Disagreement difference;
  std::vector<int64_t> digests;  // by side
  for (const Holder& holder : item.holders) {
    const auto known = std::find(digests.begin(), digests.end(), holder.digest);
    const auto side = static_cast<size_t>(known - digests.begin());
    if (known == digests.end()) {
      digests.push_back(holder.digest);
      difference.sides.emplace_back();
    }
    difference.sides[side].insert(holder.rank);
  }
  return difference;
}

// Returns the side of more than half of the witnesses.
std::optional<size_t> Majority(const SharedItem& item, const Disagreement& difference) {
  const bool any = std::any_of(item.holders.begin(), item.holders.end(),
                               [](const Holder& holder) { return holder.is_witness; });
  std::vector<size_t> votes(difference.sides.size());
  size_t all = 0;
  for (const Holder& holder : item.holders) {
    if (any && !holder.is_witness) continue;
    ++votes[SideOf(difference, holder.rank)];
    ++all;
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  if (2 * *most <= all) return std::nullopt;
  return static_cast<size_t>(most - votes.begin());
}

std::optional<size_t> ProvenSide(const Disagreement& difference, std::span<const Proof> proofs) {
  std::optional<size_t> proven;
  for (size_t rank = 0; rank < proofs.size(); ++rank) {
    if (proofs[rank] != Proof::kRight) continue;
    for (size_t side = 0; side < difference.sides.size(); ++side) {
      if (difference.sides[side].count(static_cast<int>(rank)) == 0) continue;
      if (proven && *proven != side) return std::nullopt;
      proven = side;
    }
  }
  return proven;
}

}  // namespace

std::set<int> Disagreement::wrong() const {
  std::set<int> ranks;
  for (size_t side = 0; right && side < sides.size(); ++side) {
    if (side != *right) ranks.insert(sides[side].begin(), sides[side].end());
  }
  return ranks;
}

std::optional<Disagreement> JudgeItem(const SharedItem& item, std::span<const Proof> proofs) {
  Disagreement difference = Divide(item);
  if (difference.sides.size() < 2) return std::nullopt;
  difference.right = Majority(item, difference);
  difference.by_majority = difference.right.has_value();
  if (!difference.right) difference.right = ProvenSide(difference, proofs);
  return difference;
}

std::string RanksText(const std::set<int>& ranks) {
  const std::vector<int> all(ranks.begin(), ranks.end());
  if (all.size() == 1) return absl::StrCat("rank ", all[0]);
  if (all.size() > kMostNamed) {
    return absl::StrCat("ranks ", absl::StrJoin(all.begin(), all.begin() + kMostNamed, ", "),
                        " and ", all.size() - kMostNamed, " more");
  }
  return absl::StrCat("ranks ", absl::StrJoin(all.begin(), all.end() - 1, ", "), " and ",
                      all.back());
}

}  // namespace muster::trainer
