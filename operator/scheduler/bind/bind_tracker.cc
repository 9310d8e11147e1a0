#include "operator/scheduler/bind/bind_tracker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/logging.h"

namespace muster::control {
namespace {

// Delay before a write of unknown outcome is repeated, and before a refused bind is decided on
// again.
constexpr absl::Duration kRepeatAfter = absl::Milliseconds(250);
// Least interval between different refusals to the same members, or after one that did not arrive.
constexpr absl::Duration kRefusalInterval = absl::Seconds(5);
// Delay before a gang whose volumes could not be had is placed again.
constexpr absl::Duration kPlaceAgain = absl::Seconds(10);
constexpr size_t kForgetFrom = 64;

}  // namespace

BindTracker::BindTracker(PodWriter& writer, ClusterModel& model, const Clock& clock,
                         absl::Duration volume_deadline,
                         std::function<void(const std::string&)> on_change)
    : writer_(writer),
      model_(model),
      clock_(clock),
      on_change_(std::move(on_change)),
      volumes_(volume_deadline) {}

int BindTracker::Take() {
  int bound = 0;
  for (const PodWritten& written : writer_.Take()) {
    Settle(written);
    const bool bind = written.write.kind == PodWrite::Kind::kBind;
    bound += bind && written.outcome == PodWritten::Outcome::kDone;
  }
  return bound;
}

void BindTracker::Settle(const PodWritten& written) {
  const PodWrite& write = written.write;
  const PodRecord& pod = *write.pod;
  const bool bind = write.kind == PodWrite::Kind::kBind;
  State& state = states_[write.job_uid];
  if (bind) --state.in_flight;
  if (written.outcome == PodWritten::Outcome::kDone) {
    if (!bind) return;
    MUSTER_LOG(INFO, "pod bound", {"pod", pod.key.name}, {"node", written.node});
    state.refused.erase(pod.view->uid);
    model_.Confirm(pod, written.node);
    return on_change_(write.job_uid);
  }
  MUSTER_LOG_LIMITED(WARN, kube::ToString(pod.key), "a pod's write failed",
                     {"pod", kube::ToString(pod.key)}, {"write", NameOf(write.kind)},
                     {"about", write.text}, {"error", written.status});
  if (write.kind == PodWrite::Kind::kRefuse) {
    state.unconfirmed.erase(pod.view->uid);
    if (absl::IsNotFound(written.status) || state.refusal.empty()) return;
    state.refusal_version = 0;
    delayed_refusals_.try_emplace(
        write.job_uid, DelayedRefusal{clock_.Monotonic() + kRefusalInterval, state.refusal});
    return;
  }
  if (write.is_of_claim() && written.outcome == PodWritten::Outcome::kNotDone) {
    if (write.kind != PodWrite::Kind::kForgetNode) volumes_.Failed(written);
    return;
  }
  if (written.outcome == PodWritten::Outcome::kUnknown) {
    to_repeat_.push_back({clock_.Monotonic() + kRepeatAfter, write});
    to_repeat_.back().write.again = true;
    if (bind) on_change_(write.job_uid);
  } else if (bind) {
    // The pod changed or is gone, or the server refuses it: the next cycle decides again.
    state.not_before = clock_.Monotonic() + kRepeatAfter;
    state.refused.insert(pod.view->uid);
    model_.TakeBack(pod);
    on_change_(write.job_uid);
  }
}

void BindTracker::Repeat() {
  RepeatUnknown();
  WriteDelayedRefusals();
}

void BindTracker::WriteDelayedRefusals() {
  const absl::Time now = clock_.Monotonic();
  for (auto it = delayed_refusals_.begin(); it != delayed_refusals_.end();) {
    const auto gang = model_.gangs().find(it->first);
    if (gang != model_.gangs().end() && now < it->second.not_before) {
      ++it;
      continue;
    }
    const auto delayed = delayed_refusals_.extract(it++);
    if (gang != model_.gangs().end())
      WriteRefusal(delayed.key(), gang->second, delayed.mapped().sentence);
  }
}

// Binds the same pod to the same node again: whatever became of earlier tries, it ends up there or
// nowhere. If that node is no longer usable, the pod is given up instead.
void BindTracker::RepeatUnknown() {
  for (Repeated& one : std::exchange(to_repeat_, {})) {
    if (clock_.Monotonic() < one.not_before) {
      to_repeat_.push_back(std::move(one));
      continue;
    }
    PodWrite& write = one.write;
    const bool asked =
        write.kind == PodWrite::Kind::kSelectNode || write.kind == PodWrite::Kind::kGiveVolume;
    if (asked && !volumes_.IsWaiting(write.job_uid)) continue;
    if (write.kind == PodWrite::Kind::kBind) {
      if (!model_.IsPromised(*write.pod)) continue;  // the cache shows the outcome already
      const NodeRecord* node = model_.FindNode(write.text);
      if (node == nullptr || !node->schedulable) {
        write.text = absl::StrCat("whether it was bound to ", write.text,
                                  " is not known, and that node is no longer usable");
        write.kind = PodWrite::Kind::kDelete;
      } else {
        ++states_[write.job_uid].in_flight;
      }
    }
    writer_.Add(std::move(write));
  }
}

void BindTracker::Write(const std::string& uid, const Member& member) {
  State& state = states_[uid];
  ++state.in_flight;
  PodWrite write{PodWrite::Kind::kBind, uid, member.pod, member.node};
  write.again = state.refused.count(member.pod->view->uid) > 0;
  writer_.Add(std::move(write));
}

void BindTracker::Bind(const std::string& uid, const std::vector<Member>& members) {
  const bool waits = volumes_.Begin(uid, members, model_, clock_.Monotonic(), writer_);
  for (const Member& member : members) {
    model_.Promise(*member.pod, member.node);
    if (!waits) Write(uid, member);
  }
  on_change_(uid);
}

std::map<std::string, std::string> BindTracker::TakeVolumes() {
  std::map<std::string, std::string> failed;
  for (const VolumeWait::Outcome& outcome : volumes_.Take(model_, clock_.Monotonic(), writer_)) {
    const std::string& uid = outcome.job_uid;
    for (const Member& member : outcome.members) {
      if (outcome.why_not.empty()) {
        Write(uid, member);
      } else {
        model_.TakeBack(*member.pod);
      }
    }
    if (outcome.why_not.empty()) continue;
    states_[uid].not_before = clock_.Monotonic() + kPlaceAgain;
    failed[uid] = outcome.why_not;
    on_change_(uid);
  }
  return failed;
}

void BindTracker::Refuse(const std::string& uid, const Gang& gang, const std::string& sentence) {
  const State& state = states_[uid];
  if (sentence.empty()) return;
  const bool same_members = state.refusal_version == gang.version && !state.refusal.empty();
  const absl::Time not_before = state.refused_at + kRefusalInterval;
  if (same_members && state.refusal == sentence) {
    delayed_refusals_.erase(uid);
  } else if (same_members && clock_.Monotonic() < not_before) {
    delayed_refusals_[uid] = {not_before, sentence};
  } else {
    WriteRefusal(uid, gang, sentence);
  }
}

void BindTracker::WriteRefusal(const std::string& uid, const Gang& gang,
                               const std::string& sentence) {
  State& state = states_[uid];
  delayed_refusals_.erase(uid);
  // Every pod that shows the refusal makes a new version of the gang, while the writes to the
  // others are already under way.
  const bool anew = state.refusal != sentence;
  const std::map<std::string, std::string> before = std::exchange(state.unconfirmed, {});
  state.refusal = sentence;
  state.refusal_version = gang.version;
  state.refused_at = clock_.Monotonic();
  for (const auto& [place, pod] : gang.unbound) {
    if (pod->unscheduled_message == sentence) continue;
    const std::string& version = pod->view->resource_version;
    state.unconfirmed[pod->view->uid] = version;
    const auto written = before.find(pod->view->uid);
    if (!anew && written != before.end() && written->second == version) continue;
    writer_.Add({PodWrite::Kind::kRefuse, uid, pod, sentence});
  }
}

void BindTracker::TakeRefusalBack(const std::string& uid) {
  states_[uid].refusal.clear();
  states_[uid].unconfirmed.clear();
  delayed_refusals_.erase(uid);
}

void BindTracker::Undo(const std::string& uid, const Gang& gang) {
  volumes_.GiveUp(uid, "the gang was bound in part for too long");
  for (const auto& [place, bound] : gang.bound) {
    writer_.Add({PodWrite::Kind::kDelete, uid, bound.pod, "the rest of the gang has no place"});
  }
}

bool BindTracker::MustPause(const std::string& uid) const {
  const auto found = states_.find(uid);
  return found != states_.end() && clock_.Monotonic() < found->second.not_before;
}

int BindTracker::in_flight(const std::string& uid) const {
  const auto found = states_.find(uid);
  return found == states_.end() ? 0 : found->second.in_flight;
}

void BindTracker::Forget() {
  // Runs so seldom that its cost per gang is negligible.
  if (states_.size() < 2 * model_.gangs().size() + kForgetFrom) return;
  std::erase_if(states_, [&](const auto& entry) {
    return entry.second.in_flight == 0 && model_.gangs().count(entry.first) == 0;
  });
}

}  // namespace muster::control
