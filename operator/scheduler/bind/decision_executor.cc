#include "operator/scheduler/bind/decision_executor.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "operator/placement/complete_gang.h"
#include "operator/queue/book/queue_book.h"
#include "operator/scheduler/gang/gang_request.h"

namespace muster::control {
namespace {

using State = QueueJobState::State;

}  // namespace

bool DecisionExecutor::CarryOut(const Decision& decision) {
  const QueueJobState* standing = world_.book.Find(decision.job);
  if (standing == nullptr || standing->job == nullptr) return false;
  switch (decision.action) {
    case ScheduleAction::kStart:
      Start(decision, *standing);
      break;
    case ScheduleAction::kWait:
      Wait(decision, *standing);
      break;
    case ScheduleAction::kShrink:
    case ScheduleAction::kStop:
      Order(decision, *standing);
      break;
    case ScheduleAction::kGrow:
      Grow(decision, *standing);
      break;
  }
  return true;
}

void DecisionExecutor::Start(const Decision& decision, const QueueJobState& standing) {
  // The queue's answer names nodes by position, which is the worker's index unless some have ended.
  const bool by_index = standing.ended.empty() && world_.gate.IsNodeLocal(decision.job);
  if (by_index) return Bind(decision, standing);
  StartAsked(decision, standing);
}

void DecisionExecutor::StartAsked(const Decision& decision, const QueueJobState& standing) {
  const std::string& uid = decision.job;
  const Gang& gang = world_.model.gangs().at(uid);
  for (const std::string& node : decision.placement.nodes) world_.model.Recount(node);
  PartialGang request = MakeGangRequest(*standing.job, standing.spec, gang);
  request.request.max = std::max(decision.workers, request.request.min);
  request.missing.resize(std::min(request.missing.size(), static_cast<size_t>(decision.workers)));
  const PlacementAnswer answer = PlaceGang(world_.model, request, MissingPods(gang));
  if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
    world_.book.Demote(uid);
    return world_.publisher.Refuse(standing, *no);
  }
  const Completion& completion = std::get<Completion>(answer);
  Decision found = decision;
  found.workers = static_cast<int>(completion.nodes.size());
  found.placement = completion.gang;
  found.placement.nodes.clear();
  for (const auto& [worker, node] : completion.nodes) found.placement.nodes.push_back(node);
  Bind(found, standing);
}

void DecisionExecutor::Bind(const Decision& decision, const QueueJobState& standing) {
  std::vector<BindTracker::Member> members;
  for (const auto& [worker, pod] : NewestUnbound(world_.model.gangs().at(decision.job))) {
    if (members.size() == decision.placement.nodes.size()) break;
    members.push_back({pod, decision.placement.nodes[members.size()]});
  }
  world_.publisher.Bind(standing, members, decision.placement);
  world_.book.Entitle(decision.job, decision.workers, world_.clock.Wall());
}

// Binds the pods of the new workers. If some do not exist, because the queue had the job give them
// up, an order has them made first.
void DecisionExecutor::Grow(const Decision& decision, const QueueJobState& standing) {
  const std::string& uid = decision.job;
  const std::map<int, PodCache::Object> pods = NewestUnbound(world_.model.gangs().at(uid));
  std::vector<BindTracker::Member> members;
  for (int worker = standing.entitled; worker < decision.workers; ++worker) {
    const std::string& node = decision.placement.nodes[worker];
    world_.model.Recount(node);
    const auto pod = pods.find(worker);
    if (pod != pods.end()) members.push_back({pod->second, node});
  }
  const bool all = static_cast<int>(members.size()) == decision.workers - standing.entitled;
  if (all && !world_.gate.IsNodeLocal(uid)) return GrowAsked(decision, standing);
  if (all) {
    world_.publisher.Bind(standing, members, decision.placement);
    return world_.book.Entitle(uid, decision.workers, world_.clock.Wall());
  }
  world_.book.Entitle(uid, standing.entitled, world_.clock.Wall());
  // The job is told once; its pods take a while to appear.
  if (standing.limit && *standing.limit < decision.workers) Order(decision, standing);
}

void DecisionExecutor::GrowAsked(const Decision& decision, const QueueJobState& standing) {
  const Gang grown = WorkersBelow(world_.model.gangs().at(decision.job), decision.workers);
  const PartialGang request = MakeGangRequest(*standing.job, standing.spec, grown);
  const PlacementAnswer answer = PlaceGang(world_.model, request, MissingPods(grown));
  if (const auto* completion = std::get_if<Completion>(&answer)) {
    world_.publisher.Bind(standing, MembersOf(grown, completion->nodes), completion->gang);
  }
  world_.book.Entitle(decision.job, standing.entitled, world_.clock.Wall());
}

std::string DecisionExecutor::NameOf(const std::string& uid) const {
  const QueuedJob* job = world_.book.book().Find(uid);
  return job == nullptr ? uid : absl::StrCat(job->ns, "/", job->name);
}

std::string DecisionExecutor::SentenceOf(Decision decision) const {
  if (!decision.for_job.empty()) decision.for_job = NameOf(decision.for_job);
  if (!decision.numbers.blocked_by.empty()) {
    decision.numbers.blocked_by = NameOf(decision.numbers.blocked_by);
  }
  return Sentence(decision, world_.clock.Wall());
}

// The controller writes the order to the job's status before it is carried out.
void DecisionExecutor::Order(const Decision& decision, const QueueJobState& standing) {
  QueueOrder order;
  order.workers = decision.workers;
  order.reason = std::string(Name(decision.reason));
  order.sentence = SentenceOf(decision);
  world_.verdicts.SetOrder(*standing.job, std::move(order), world_.clock.Wall());
  world_.book.Touch(decision.job);
}

void DecisionExecutor::Wait(const Decision& decision, const QueueJobState& standing) {
  // The decision about a gang with inter-pod constraints already has the whole sentence.
  const bool asked = decision.reason == ScheduleReason::kConstraints ||
                     (PlaceReasonOf(decision.reason) && !world_.gate.IsNodeLocal(decision.job));
  if (asked) {
    const std::string reason(Name(decision.reason));
    return world_.publisher.Refuse(standing, {reason, decision.detail, false});
  }
  if (PlaceReasonOf(decision.reason)) return RefusePlace(decision, standing);
  // The refusal goes to its pods as well: more nodes would help, and an autoscaler looks there.
  if (decision.reason == ScheduleReason::kFitsNowhere) {
    const std::string reason(Name(decision.reason));
    std::string sentence = SentenceOf(decision);
    if (decision.nearest_feasible_size > 0) {
      absl::StrAppend(&sentence,
                      "; fits now with workers.count <= ", decision.nearest_feasible_size);
    }
    return world_.publisher.Refuse(standing, {reason, std::move(sentence), false});
  }
  world_.publisher.PublishQueued(standing, decision.reason, SentenceOf(decision));
}

// Refuses the gang with the sentence of all its rules; gangs of one shape get the same one.
void DecisionExecutor::RefusePlace(const Decision& decision, const QueueJobState& standing) {
  const Gang& gang = world_.model.gangs().at(decision.job);
  const PartialGang request = MakeGangRequest(*standing.job, standing.spec, gang);
  const std::map<int, PodPointer> pods = MissingPods(gang);
  const std::string shape = ShapeOf(request, *pods.begin()->second);
  if (const auto known = refusals_.find(shape); known != refusals_.end()) {
    return world_.publisher.Refuse(standing, known->second);
  }
  const PlacementAnswer answer = PlaceGang(world_.model, request, pods);
  if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
    if (no->of_shape && !shape.empty()) refusals_[shape] = *no;
    return world_.publisher.Refuse(standing, *no);
  }
  // The gang has a place, but a smaller one than its queue requires.
  const Unplaceable no{*PlaceReasonOf(decision.reason), decision.detail,
                       decision.nearest_feasible_size};
  world_.publisher.Refuse(
      standing, {std::string(Name(decision.reason)), FullSentence(no, request.request, ""), false});
}

int DecisionExecutor::ReportOvertaken(const std::vector<Decision>& decisions) {
  absl::flat_hash_set<std::string> decided;
  for (const Decision& decision : decisions) decided.insert(decision.job);
  // Most of these jobs have a decision in cycle after cycle.
  std::set<std::string> passed_over;
  auto pass_over = [&](const std::string& uid) {
    if (!decided.contains(uid)) passed_over.insert(uid);
  };
  for (const std::string& uid : world_.book.TakeFresh()) pass_over(uid);
  for (const std::string& uid : decided_) pass_over(uid);
  decided_ = std::move(decided);
  int reported = 0;
  for (const std::string& uid : passed_over) {
    const QueueJobState* standing = world_.book.Find(uid);
    if (standing == nullptr || standing->state != State::kWaiting) continue;
    // The sentence is written once, so it leaves out the position, which changes.
    Decision behind;
    behind.numbers.queue = QueueBook::State::QueueOf(standing->queued);
    world_.publisher.PublishQueued(*standing, behind.reason, Sentence(behind, absl::UnixEpoch()));
    ++reported;
  }
  return reported;
}

}  // namespace muster::control
