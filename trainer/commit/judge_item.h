#ifndef MUSTER_TRAINER_COMMIT_JUDGE_ITEM_H_
#define MUSTER_TRAINER_COMMIT_JUDGE_ITEM_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace muster::trainer {

// Decides who is right when ranks that should hold the same hold different bytes. No rank is right
// for its number: memory that has changed a bit may be that of the first one. Pure; all ranks judge
// the same digests alike.

// One thing that several ranks should hold alike, with the digest that each has of it.
struct SharedItem {
  struct Holder {
    int rank = 0;
    int64_t digest = 0;
    // The rank had it of its own. One that got it from the others proves nothing.
    bool is_witness = true;
  };
  std::vector<Holder> holders;  // by rank
};

// A checkpoint of exactly this version says so of all that one rank holds.
enum class Proof { kNone, kRight, kWrong };

// A difference among the holders of an item.
struct Disagreement {
  std::vector<std::set<int>> sides;  // ranks of equal digests; that of the lowest rank comes first
  std::optional<size_t> right;       // the place of the side that is right; absent: not known
  bool by_majority = false;          // else by a checkpoint

  // Returns the ranks on the other sides; none if it is not known which is right.
  std::set<int> wrong() const;
};

// Returns nullopt if all holders agree. Right is the side of more than half of the witnesses, or of
// all holders if there is no witness; without one, the side of the ranks that `proofs` (by rank, or
// empty) says are right, if these are on one side.
std::optional<Disagreement> JudgeItem(const SharedItem& item, std::span<const Proof> proofs);

// Returns e.g. "rank 0" or "ranks 0, 2 and 5".
std::string RanksText(const std::set<int>& ranks);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_JUDGE_ITEM_H_
