#include "operator/core/resume/held_slices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "operator/core/resume/slice_span.h"
#include "planner/layout.h"

namespace muster::control {

using v1alpha1::Member;

int ShardsOfRound(const Draft& draft) {
  const std::vector<Member>& members = draft.plan.memory.members;
  if (members.empty()) return 1;
  const Member& last = members.back();
  return planner::LayOutRanks(draft.spec().trainer().parallelism(),
                              last.first_rank() + last.ranks())
      .shard();
}

std::vector<v1alpha1::StateSlice> SlicesOf(const Member& member, int shards) {
  std::vector<v1alpha1::StateSlice> slices;
  for (int i = 0; i < std::min(member.ranks(), shards); ++i) {
    v1alpha1::StateSlice slice;
    slice.set_shard((member.first_rank() + i) % shards);
    slice.set_shards(shards);
    slices.push_back(std::move(slice));
  }
  return slices;
}

bool HoldEverySlice(const Draft& draft, absl::FunctionRef<bool(const Member&)> stays) {
  if (!draft.spec().has_trainer()) return false;
  const int shards = ShardsOfRound(draft);
  std::vector<SliceSpan> staying;
  for (const Member& member : draft.plan.memory.members) {
    if (!stays(member)) continue;
    for (const v1alpha1::StateSlice& slice : SlicesOf(member, shards)) {
      staying.push_back(SpanOf(slice));
    }
  }
  return !FirstGap(std::move(staying)).has_value();
}

}  // namespace muster::control
