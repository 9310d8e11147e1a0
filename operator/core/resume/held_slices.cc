#include "operator/core/resume/held_slices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "operator/core/resume/slice_span.h"
#include "planner/layout.h"

namespace muster::control {

using v1alpha1::Member;

v1alpha1::Mesh LayoutOfRound(const Draft& draft) {
  const std::vector<Member>& members = draft.plan.memory.members;
  const int ranks = members.empty() ? 1 : members.back().first_rank() + members.back().ranks();
  return planner::LayOutRanks(draft.spec().trainer().parallelism(), ranks);
}

std::vector<v1alpha1::StateSlice> SlicesOf(const Member& member, const v1alpha1::Mesh& mesh) {
  std::vector<v1alpha1::StateSlice> slices;
  for (int i = 0; i < member.ranks(); ++i) {
    slices.push_back(planner::SliceOfRank(mesh, member.first_rank() + i));
    if (i + 1 == slices.back().shards()) break;  // of the next copy
  }
  return slices;
}

bool HoldEverySlice(const Draft& draft, absl::FunctionRef<bool(const Member&)> stays) {
  if (!draft.spec().has_trainer()) return false;
  const v1alpha1::Mesh mesh = LayoutOfRound(draft);
  std::vector<SliceSpan> staying;
  for (const Member& member : draft.plan.memory.members) {
    if (!stays(member)) continue;
    for (const v1alpha1::StateSlice& slice : SlicesOf(member, mesh)) {
      staying.push_back(SpanOf(slice));
    }
  }
  return !FirstGap(std::move(staying)).has_value();
}

}  // namespace muster::control
