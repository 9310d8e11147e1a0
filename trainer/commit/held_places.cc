#include "trainer/commit/held_places.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace muster::trainer {
namespace {

bool Covers(const CopyPlace& held, const CopyPlace& wanted) {
  const int64_t h = held.shard.count, w = wanted.shard.count;
  return held.part == wanted.part && held.stage == wanted.stage &&
         held.shard.index * w <= wanted.shard.index * h &&
         (wanted.shard.index + 1) * h <= (held.shard.index + 1) * w;
}

}  // namespace

CopyPlace ToPlace(const v1alpha1::StateSlice& slice) {
  const int parts = std::max(1, slice.parts()), stages = std::max(1, slice.stages());
  const int shards = std::max(1, slice.shards() / parts / stages);
  const int part = slice.shard() / shards;
  return {.part = {part % parts, parts},
          .shard = {slice.shard() % shards, shards},
          .stage = {part / parts, stages}};
}

v1alpha1::StateSlice ToSlice(const CopyPlace& place) {
  v1alpha1::StateSlice slice;
  slice.set_shard(place.index());
  slice.set_shards(place.count());
  if (place.part.count > 1) slice.set_parts(place.part.count);
  if (place.stage.count > 1) slice.set_stages(place.stage.count);
  return slice;
}

std::vector<std::optional<CopyPlace>> HeldPlaces(const v1alpha1::ResumePoint& resume, int ranks) {
  std::vector<std::optional<CopyPlace>> held(static_cast<size_t>(ranks), CopyPlace{});
  for (int rank = 0; rank < std::min(ranks, resume.slices_size()); ++rank) {
    held[static_cast<size_t>(rank)] = ToPlace(resume.slices(rank));
  }
  for (const int receiver : resume.receivers()) held[static_cast<size_t>(receiver)].reset();
  for (const v1alpha1::ReplicaSource& replica : resume.replicas()) {
    held.emplace_back(ToPlace(replica.slice()));
  }
  return held;
}

std::vector<bool> Witnesses(const v1alpha1::ResumePoint& resume,
                            std::span<const CopyPlace> wanted) {
  const bool from_ranks = resume.source() == v1alpha1::ResumePoint::LIVE ||
                          resume.source() == v1alpha1::ResumePoint::MEMORY;
  const auto held = HeldPlaces(resume, static_cast<int>(wanted.size()));
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
