#include "operator/core/round/hand_over.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/core/leave/spot.h"
#include "operator/core/resume/held_slices.h"
#include "operator/core/round/elastic.h"
#include "operator/core/round/next_members.h"
#include "operator/core/state/order_save.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

using v1alpha1::Member;

constexpr absl::Duration kMostWait = absl::Minutes(2);

// Returns true if the members that stay do not hold every slice of the state.
bool SlicesLeave(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  const int count = draft.WorkersWanted();
  if (memory.phase != RoundPhase::kActive || memory.members.empty() || count == 0) return false;
  const std::set<int> staying = StayingMembers(draft, count);
  if (staying.size() == memory.members.size()) return false;
  // Where every rank has a copy, the next round keeps one, even if no member stays
  // (next_members.cc).
  const v1alpha1::Mesh mesh = LayoutOfRound(draft);
  if (mesh.shard() == 1 && mesh.pipeline() <= 1) return false;
  return !HoldEverySlice(
      draft, [&](const Member& member) { return staying.count(member.worker().index()) > 0; });
}

// Returns true if a member is lost, or leaves its node: the round ends before all could save.
bool EndsAnyhow(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  return std::any_of(memory.members.begin(), memory.members.end(), [&](const Member& member) {
    const Worker* worker = WorkerOf(draft, member);
    return worker == nullptr || IsLost(worker->presence) || IsLeaving(memory, *worker);
  });
}

// Returns why a checkpoint is to be saved before the members change; empty if none is.
std::string WhySaveFirst(const Draft& draft) {
  if (draft.plan.memory.stop.since || EndsAnyhow(draft)) return "";
  if (!draft.spec().has_trainer()) {
    if (NewestCheckpoint(draft) < 0) return "";
    const auto wanted = FindOtherMembers(draft);
    if (!wanted) return "";
    return absl::StrCat(wanted->sentence,
                        ": the processes of the command end for it, and save first");
  }
  if (!draft.spec().has_checkpoint() || !SlicesLeave(draft)) return "";
  return absl::StrCat("the job is to have ", draft.WorkersWanted(),
                      " workers, and the workers that leave hold slices of the state that "
                      "no other has: a checkpoint is saved first");
}

}  // namespace

void SaveBeforeMembersChange(Draft& draft) {
  HandOverMemory& memory = draft.memory().hand_over;
  const std::string why = WhySaveFirst(draft);
  if (why.empty()) {
    memory = {};
    return;
  }
  if (!memory.until) {
    memory = {draft.view.now + kMostWait, NewestCheckpoint(draft)};
    OrderSaves(draft);
    draft.EmitNormal(Reason::kSaveRequested, why);
  }
  draft.RequeueAt(*memory.until);
}

bool MayChangeMembersNow(const Draft& draft) {
  const HandOverMemory& memory = draft.plan.memory.hand_over;
  return !memory.until || draft.view.now >= *memory.until ||
         NewestCheckpoint(draft) > memory.checkpoint;
}

}  // namespace muster::control
