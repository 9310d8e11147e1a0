#include "trainer/commit/held_shards.h"

#include <algorithm>
#include <cstddef>

namespace muster::trainer {

std::vector<std::optional<Shard>> HeldShards(const v1alpha1::ResumePoint& resume, int ranks) {
  std::vector<std::optional<Shard>> held(static_cast<size_t>(ranks), Shard{});
  for (int rank = 0; rank < std::min(ranks, resume.slices_size()); ++rank) {
    const v1alpha1::StateSlice& slice = resume.slices(rank);
    held[static_cast<size_t>(rank)] = Shard{slice.shard(), std::max(1, slice.shards())};
  }
  for (const int receiver : resume.receivers()) held[static_cast<size_t>(receiver)].reset();
  return held;
}

}  // namespace muster::trainer
