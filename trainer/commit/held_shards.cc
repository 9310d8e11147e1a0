#include "trainer/commit/held_shards.h"

#include <algorithm>
#include <cstddef>

namespace muster::trainer {

Shard ToShard(const v1alpha1::StateSlice& slice) {
  return {slice.shard(), std::max(1, slice.shards())};
}

std::vector<std::optional<Shard>> HeldShards(const v1alpha1::ResumePoint& resume, int ranks) {
  std::vector<std::optional<Shard>> held(static_cast<size_t>(ranks), Shard{});
  for (int rank = 0; rank < std::min(ranks, resume.slices_size()); ++rank) {
    held[static_cast<size_t>(rank)] = ToShard(resume.slices(rank));
  }
  for (const int receiver : resume.receivers()) held[static_cast<size_t>(receiver)].reset();
  for (const v1alpha1::ReplicaSource& replica : resume.replicas()) {
    held.emplace_back(ToShard(replica.slice()));
  }
  return held;
}

int RankOfHolder(const v1alpha1::ResumePoint& resume, int ranks, int holder) {
  return holder < ranks ? holder : resume.replicas(holder - ranks).rank();
}

}  // namespace muster::trainer
