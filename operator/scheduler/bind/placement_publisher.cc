#include "operator/scheduler/bind/placement_publisher.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::control {
namespace {

// The API shows four decimals; a score is no more exact than that.
double Shown(double score) { return std::round(score * 1e4) / 1e4; }

}  // namespace

std::vector<BindTracker::Member> MembersOf(const Gang& gang,
                                           const std::map<int, std::string>& nodes) {
  const std::map<int, PodCache::Object> pods = NewestUnbound(gang);
  std::vector<BindTracker::Member> members;
  for (const auto& [worker, node] : nodes) members.push_back({pods.at(worker), node});
  return members;
}

void PlacementPublisher::Bind(const QueueJobState& standing,
                              const std::vector<BindTracker::Member>& members,
                              const Placement& placement) {
  const std::string& uid = standing.job->uid;
  writes_.TakeRefusalBack(uid);
  writes_.Bind(uid, members);
  PlacementView verdict;
  verdict.score = Shown(placement.score);
  verdict.level = placement.level;
  verdict.domain = placement.domain;
  Publish(standing, std::move(verdict));
}

void PlacementPublisher::Refuse(const QueueJobState& standing, const PlacementRefusal& no) {
  const std::string& uid = standing.job->uid;
  const Gang& gang = model_.gangs().at(uid);
  PlacementView verdict = gang.bound.empty() ? PlacementView{} : verdicts_.Of(uid);
  verdict.reason = no.reason;
  verdict.sentence = no.sentence;
  verdict.queued = false;
  Publish(standing, std::move(verdict));
  writes_.Refuse(uid, gang, no.sentence);
}

void PlacementPublisher::PublishQueued(const QueueJobState& standing, ScheduleReason reason,
                                       std::string sentence, PlacementView verdict) {
  verdict.reason = std::string(Name(reason));
  verdict.sentence = std::move(sentence);
  verdict.queued = true;
  Publish(standing, std::move(verdict));
}

void PlacementPublisher::Publish(const QueueJobState& standing, PlacementView verdict) {
  if (!verdict.reason.empty()) {
    const std::string complaint = complaint_(standing.spec.priority_class_name());
    if (!complaint.empty()) absl::StrAppend(&verdict.sentence, "; ", complaint);
  }
  verdicts_.Set(clock_.Monotonic(), *standing.job, std::move(verdict));
}

}  // namespace muster::control
