#include "trainer/commit/held_shards.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace muster::trainer {
namespace {

bool Covers(const Shard& held, const Shard& wanted) {
  const int64_t h = held.count, w = wanted.count;
  return held.index * w <= wanted.index * h && (wanted.index + 1) * h <= (held.index + 1) * w;
}

}  // namespace

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

std::vector<bool> Witnesses(const v1alpha1::ResumePoint& resume, std::span<const Shard> wanted) {
  const bool from_ranks = resume.source() == v1alpha1::ResumePoint::LIVE ||
                          resume.source() == v1alpha1::ResumePoint::MEMORY;
  const auto held = HeldShards(resume, static_cast<int>(wanted.size()));
  std::vector<bool> witnesses;
  for (size_t rank = 0; rank < wanted.size(); ++rank) {
    witnesses.push_back(!from_ranks || (held[rank] && Covers(*held[rank], wanted[rank])));
  }
  return witnesses;
}

int RankOfHolder(const v1alpha1::ResumePoint& resume, int ranks, int holder) {
  return holder < ranks ? holder : resume.replicas(holder - ranks).rank();
}

}  // namespace muster::trainer
