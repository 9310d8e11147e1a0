#include "operator/core/leave/notice_outcome.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/leave_plan.h"
#include "operator/core/state/progress.h"

namespace muster::control {
namespace {

constexpr char kKept[] = "Kept";
constexpr char kMissed[] = "Missed";
constexpr char kWithdrawn[] = "Withdrawn";

// Writes the outcome to the status. The notice stays for the round that the worker is still in.
void Record(Draft& draft, int index, const char* outcome, std::string message) {
  NoticeMemory& notice = draft.memory().workers[index].notice;
  v1alpha1::NoticeOutcome& last = *draft.status().mutable_workers()->mutable_last_notice();
  last.Clear();
  last.set_index(index);
  last.set_incarnation(notice.incarnation);
  last.set_outcome(outcome);
  if (notice.plan) last.set_plan(std::string(Name(*notice.plan)));
  last.set_seconds_left(absl::ToDoubleSeconds(notice.deadline - draft.view.now));
  last.set_time(FormatWall(draft.view.wall));
  last.set_message(std::move(message));
  notice.settled = true;
}

// Returns what the worker has left behind, as the end of a sentence.
std::string Left(const Draft& draft, const NoticeMemory& notice) {
  const int64_t newest = NewestCheckpoint(draft);
  if (newest > notice.checkpoint) return absl::StrCat(", with a checkpoint of step ", newest);
  if (notice.plan == LeavePlan::kSave) return ", without the checkpoint that was to be saved";
  return "";
}

void RecordReplaced(Draft& draft, int index) {
  const NoticeMemory& notice = draft.plan.memory.workers.at(index).notice;
  const absl::Duration left = notice.deadline - draft.view.now;
  const bool late = left < absl::ZeroDuration();
  const std::string when = late ? absl::StrCat(TenthsText(-left), " after the deadline")
                                : absl::StrCat(TenthsText(left), " before the deadline");
  if (notice.leaves && !late) {
    const std::string message =
        absl::StrCat("worker ", index, " left its node ", when, Left(draft, notice));
    draft.EmitNormal(Reason::kNoticeKept, message);
    return Record(draft, index, kKept, message);
  }
  const std::string message =
      notice.leaves
          ? absl::StrCat("worker ", index, " left its node only ", when, Left(draft, notice))
          : absl::StrCat("worker ", index, " was lost ", when, ", before it left its node");
  draft.EmitWarning(Reason::kNoticeMissed, message);
  Record(draft, index, kMissed, message);
}

bool IsReplaced(const Draft& draft, int index, int incarnation) {
  const auto& incarnations = draft.plan.status.incarnations();
  return index < incarnations.size() && incarnations[index] > incarnation;
}

}  // namespace

void NoteWithdrawn(Draft& draft, int index) {
  std::string message =
      absl::StrCat("worker ", index, " stays: the notice that its node goes away was taken back");
  draft.EmitNormal(Reason::kNoticeWithdrawn, message);
  Record(draft, index, kWithdrawn, std::move(message));
  draft.memory().workers[index].notice = {};
}

void SettleNotices(Draft& draft) {
  const bool stopping = draft.plan.memory.stop.since.has_value();
  for (auto& [index, worker] : draft.memory().workers) {
    if (worker.notice.incarnation == 0 || worker.notice.settled) continue;
    if (IsReplaced(draft, index, worker.notice.incarnation)) {
      RecordReplaced(draft, index);
      continue;
    }
    const Worker* present = draft.FindWorker(index);
    const bool gone = present == nullptr || present->pod == nullptr;
    if (gone && (stopping || index >= draft.PodsWanted())) worker.notice = {};
  }
}

}  // namespace muster::control
