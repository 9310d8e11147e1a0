#include "operator/runtime/scheduler.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/api/defaults.h"
#include "operator/core/conditions.h"
#include "operator/runtime/gang_request.h"

namespace muster::control {
namespace {

// Between two tries of a write whose outcome is unknown, and before a refused bind is decided anew.
constexpr absl::Duration kRepeatAfter = absl::Milliseconds(250);
// A sentence whose numbers change is not written to all pods more often than this.
constexpr absl::Duration kTellAgain = absl::Seconds(5);
constexpr size_t kFindingsToLog = 20;
// After volumes could not be had.
constexpr absl::Duration kPlaceAgain = absl::Seconds(10);

// The API shows four digits: a score is no more exact than that.
double Shown(double score) { return std::round(score * 1e4) / 1e4; }

}  // namespace

Scheduler::Scheduler(kube::Api& api, const Clock& clock, const JobCache& jobs, PodCache& pods,
                     NodeCache& nodes, std::function<void(const std::string&)> on_verdict,
                     SchedulerOptions options, std::function<void()> wake)
    : clock_(clock),
      jobs_(jobs),
      on_verdict_(std::move(on_verdict)),
      options_(std::move(options)),
      writer_(api, std::move(wake)),
      volumes_(options_.volume_deadline) {
  model_.SetLevels(options_.topology_levels);
  pods.OnChange([this](const kube::ObjectKey& key, const auto&, const PodCache::Object& after) {
    MutexLock lock(feed_mu_);
    changed_pods_[key] = after;
  });
  nodes.OnChange([this](const kube::ObjectKey& key, const auto&, const NodeCache::Object& after) {
    MutexLock lock(feed_mu_);
    changed_nodes_[key.name] = after;
  });
}

void Scheduler::SetTopologyLevels(std::vector<std::string> keys) {
  MutexLock lock(model_mu_);
  model_.SetLevels(std::move(keys));
}

void Scheduler::Change(std::function<void(ClusterSnapshot&)> change) {
  MutexLock lock(feed_mu_);
  changes_.push_back(std::move(change));
}

void Scheduler::Follow() {
  MutexLock lock(model_mu_);
  Drain();
}

void Scheduler::Drain() {
  std::map<kube::ObjectKey, PodCache::Object> pods;
  std::map<std::string, NodeCache::Object> nodes;
  std::vector<std::function<void(ClusterSnapshot&)>> changes;
  {
    MutexLock lock(feed_mu_);
    pods.swap(changed_pods_);
    nodes.swap(changed_nodes_);
    changes.swap(changes_);
  }
  for (const auto& change : changes) change(model_.Storage());
  for (const auto& [name, node] : nodes) {
    if (node != nullptr && node->scheduling->complaint) {
      MUSTER_LOG_LIMITED(WARN, name, "a node is set aside for what it says of itself",
                         {"node", name}, {"why", node->scheduling->complaint->sentence});
    }
    model_.PutNode(name, node);
  }
  for (const auto& [key, pod] : pods) model_.PutPod(key, pod);
}

int Scheduler::TakeWritten() {
  int bound = 0;
  for (const PodWritten& written : writer_.Take()) {
    Settle(written);
    const bool bind = written.write.kind == PodWrite::Kind::kBind;
    bound += bind && written.outcome == PodWritten::Outcome::kDone;
  }
  MutexLock lock(mu_);
  binds_ += bound;
  return bound;
}

void Scheduler::Settle(const PodWritten& written) {
  const PodWrite& write = written.write;
  const PodRecord& pod = *write.pod;
  const bool bind = write.kind == PodWrite::Kind::kBind;
  Look& look = looks_[write.job_uid];
  if (bind) --look.in_flight;
  if (written.outcome == PodWritten::Outcome::kDone) {
    if (!bind) return;
    MUSTER_LOG(INFO, "pod bound", {"pod", pod.key.name}, {"node", written.node});
    return model_.Confirm(pod, written.node);
  }
  MUSTER_LOG_LIMITED(WARN, kube::ToString(pod.key), "a pod's write failed",
                     {"pod", kube::ToString(pod.key)}, {"write", NameOf(write.kind)},
                     {"about", write.text}, {"error", written.status});
  if (write.kind == PodWrite::Kind::kRefuse) {
    if (!absl::IsNotFound(written.status)) look.told.clear();
    return;
  }
  if (write.is_of_claim() && written.outcome == PodWritten::Outcome::kNotDone) {
    if (write.kind != PodWrite::Kind::kForgetNode) volumes_.Failed(written);
    return;
  }
  if (written.outcome == PodWritten::Outcome::kUnknown) {
    to_repeat_.push_back({clock_.Monotonic() + kRepeatAfter, write});
  } else if (bind) {
    // The pod changed or went, or the server does not want it: the next cycle decides again.
    look.not_before = clock_.Monotonic() + kRepeatAfter;
    model_.TakeBack(pod);
  }
}

// The same pod to the same node: whatever became of the tries before, it ends up there or nowhere.
// Where that node is no place any more, the pod is given up instead.
void Scheduler::Repeat() {
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
      if (!model_.IsPromised(*write.pod)) continue;  // the cache has told what became of it
      const NodeRecord* node = model_.FindNode(write.text);
      if (node == nullptr || !node->schedulable) {
        write.text = absl::StrCat("whether it was bound to ", write.text,
                                  " is not known, and that node is no longer usable");
        write.kind = PodWrite::Kind::kDelete;
      } else {
        ++looks_[write.job_uid].in_flight;
      }
    }
    writer_.Add(std::move(write));
  }
}

void Scheduler::ReportFindings() {
  {
    MutexLock lock(mu_);
    node_faults_ = model_.snapshot().faults();
  }
  if (model_.findings() == reported_) return;
  size_t logged = 0;
  for (const TopologyFinding& finding : model_.findings()) {
    if (std::find(reported_.begin(), reported_.end(), finding) != reported_.end()) continue;
    if (++logged > kFindingsToLog) break;
    MUSTER_LOG(WARN, "topology labels contradict each other", {"node", finding.node},
               {"finding", finding.sentence});
  }
  reported_ = model_.findings();
  MutexLock lock(mu_);
  findings_ = reported_;
}

JobCache::Object Scheduler::JobOf(const std::string& uid, const Gang& gang) const {
  JobCache::Object job = jobs_.Get(gang.job);
  return job != nullptr && job->uid == uid ? job : nullptr;
}

// The oldest job first.
std::vector<std::string> Scheduler::InOrder() const {
  std::vector<std::tuple<absl::Time, std::string>> order;
  for (const std::string& uid : model_.waiting()) {
    const JobCache::Object job = JobOf(uid, model_.gangs().at(uid));
    if (job == nullptr) continue;
    order.emplace_back(job->creation_time.value_or(absl::InfinitePast()), uid);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> uids;
  for (auto& [created, uid] : order) uids.push_back(std::move(uid));
  return uids;
}

void Scheduler::SetVerdict(const TrainingJob& job, PlacementView verdict) {
  const std::string key = kube::ToString({job.ns, job.name});
  {
    MutexLock lock(mu_);
    PlacementView& known = verdicts_[job.uid];
    if (known == verdict) return;
    known = verdict;
  }
  if (verdict.reason.empty()) {
    MUSTER_LOG(INFO, "gang placed", {"job", key}, {"level", verdict.level},
               {"domain", verdict.domain}, {"score", verdict.score});
  } else {
    MUSTER_LOG(INFO, "gang not placed", {"job", key}, {"reason", verdict.reason},
               {"sentence", verdict.sentence});
  }
  on_verdict_(key);
}

void Scheduler::Bind(const std::string& uid, const Gang& gang, const Completion& completion) {
  std::map<int, PodCache::Object> pods;
  for (const auto& [place, pod] : gang.unbound) {
    PodCache::Object& newest = pods[place.first];
    if (newest == nullptr || newest->view.incarnation < pod->view.incarnation) newest = pod;
  }
  std::vector<VolumeWait::Member> members;
  for (const auto& [worker, node] : completion.nodes) members.push_back({pods.at(worker), node});
  const bool waits = volumes_.Begin(uid, members, model_, clock_.Monotonic(), writer_);
  for (const VolumeWait::Member& member : members) {
    model_.Promise(*member.pod, member.node);
    ++looks_[uid].in_flight;
    if (!waits) writer_.Add({PodWrite::Kind::kBind, uid, member.pod, member.node});
  }
}

void Scheduler::BindThoseWithVolumes() {
  for (const VolumeWait::Outcome& outcome : volumes_.Take(model_, clock_.Monotonic(), writer_)) {
    const std::string& uid = outcome.job_uid;
    Look& look = looks_[uid];
    for (const VolumeWait::Member& member : outcome.members) {
      if (outcome.why_not.empty()) {
        writer_.Add({PodWrite::Kind::kBind, uid, member.pod, member.node});
      } else {
        --look.in_flight;
        model_.TakeBack(*member.pod);
      }
    }
    if (outcome.why_not.empty()) continue;
    look.not_before = clock_.Monotonic() + kPlaceAgain;
    const auto gang = model_.gangs().find(uid);
    const JobCache::Object job = gang == model_.gangs().end() ? nullptr : JobOf(uid, gang->second);
    if (job == nullptr) continue;
    PlacementView verdict;
    verdict.reason = kConstraintsReason;
    verdict.sentence = absl::StrCat("its volumes are not there: ", outcome.why_not);
    look.refusal = verdict.sentence;
    SetVerdict(*job, std::move(verdict));
    Refuse(uid, gang->second, look);
  }
}

// All members at once, so that an autoscaler sees the whole gang.
void Scheduler::Refuse(const std::string& uid, const Gang& gang, Look& look) {
  if (look.refusal.empty() || (look.told == look.refusal && look.told_version == gang.version)) {
    return;
  }
  const absl::Time now = clock_.Monotonic();
  const bool only_numbers = look.told_version == gang.version && !look.told.empty();
  if (only_numbers && now < look.told_at + kTellAgain) return;
  look.told = look.refusal;
  look.told_version = gang.version;
  look.told_at = now;
  for (const auto& [place, pod] : gang.unbound) {
    if (pod->unscheduled_message == look.refusal) continue;
    writer_.Add({PodWrite::Kind::kRefuse, uid, pod, look.refusal});
  }
}

std::variant<Completion, Scheduler::Refusal> Scheduler::Ask(const PartialGang& request,
                                                            const Gang& gang) {
  if (std::exchange(refused_at_, model_.changes()) != model_.changes()) refused_.clear();
  const std::map<int, PodPointer> pods = MissingPods(gang);
  const std::string shape = ShapeOf(request, *pods.begin()->second);
  if (const auto known = refused_.find(shape); known != refused_.end()) return known->second;
  auto answer = PlaceGang(model_, request, pods);
  const auto* no = std::get_if<Refusal>(&answer);
  if (no != nullptr && no->of_shape && !shape.empty()) refused_[shape] = *no;
  return answer;
}

void Scheduler::Schedule(const std::string& uid) {
  const Gang& gang = model_.gangs().at(uid);
  const JobCache::Object job = JobOf(uid, gang);
  Look& look = looks_[uid];
  if (job == nullptr || clock_.Monotonic() < look.not_before) return;
  if (volumes_.IsWaiting(uid)) return;
  const bool seen = look.changes == model_.changes() && look.version == gang.version &&
                    look.generation == job->generation;
  if (seen) return Refuse(uid, gang, look);
  v1alpha1::TrainingJobSpec spec = job->spec;
  Default(spec);
  if (spec.suspend()) return;
  // A gang starts as a whole: its pods are made one by one, so wait until all are there.
  const int unbound = static_cast<int>(gang.unbound.size());
  if (gang.bound.empty() && unbound < spec.workers().count()) return;
  const PartialGang request = MakeGangRequest(*job, spec, gang);
  const auto answer = Ask(request, gang);
  look.changes = model_.changes();
  look.version = gang.version;
  look.generation = job->generation;
  if (const auto* no = std::get_if<Refusal>(&answer)) {
    look.refusal = no->sentence;
    PlacementView verdict = gang.bound.empty() ? PlacementView{} : Verdict(uid);
    verdict.reason = no->reason;
    verdict.sentence = no->sentence;
    SetVerdict(*job, std::move(verdict));
    return Refuse(uid, gang, look);
  }
  const Completion& completion = std::get<Completion>(answer);
  look.refusal.clear();
  look.told.clear();
  Bind(uid, gang, completion);
  SetVerdict(*job,
             {"", "", Shown(completion.gang.score), completion.gang.level, completion.gang.domain});
}

// Some of it is bound, it has never run as it is, and it cannot.
bool Scheduler::IsHalf(const Gang& gang, const TrainingJob& job, int confirmed) const {
  if (gang.bound.empty()) return false;
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  if (confirmed >= spec.workers().min()) return false;
  const v1alpha1::Condition* running = FindCondition(job.status, ConditionType::kRunning);
  if (running == nullptr) return true;
  if (running->status() == "True") return false;
  const auto waiting = Name(Reason::kWaitingForWorkers);
  return job.status.progress().step() == 0 || running->reason() == waiting;
}

void Scheduler::UndoHalves() {
  const absl::Time now = clock_.Monotonic();
  for (const auto& [uid, gang] : model_.gangs()) {
    Look& look = looks_[uid];
    if (look.in_flight > 0 || look.whole_version == gang.version) continue;
    const int confirmed =
        static_cast<int>(std::count_if(gang.bound.begin(), gang.bound.end(),
                                       [](const auto& entry) { return entry.second.confirmed; }));
    const JobCache::Object job = JobOf(uid, gang);
    if (job == nullptr || !IsHalf(gang, *job, confirmed)) {
      look.half_since = absl::InfiniteFuture();
      if (gang.unbound.empty() && confirmed == static_cast<int>(gang.bound.size())) {
        look.whole_version = gang.version;
      }
      continue;
    }
    const bool goes_on = look.half_since == absl::InfiniteFuture() || confirmed > look.confirmed;
    look.confirmed = confirmed;
    if (goes_on) look.half_since = now;
    if (now < look.half_since + options_.undo_after) continue;
    look.half_since = now;
    MUSTER_LOG(WARN, "a gang bound in part is undone", {"job", kube::ToString(gang.job)},
               {"bound", confirmed}, {"reason", Verdict(uid).sentence});
    for (const auto& [place, bound] : gang.bound) {
      writer_.Add({PodWrite::Kind::kDelete, uid, bound.pod, "the rest of the gang has no place"});
    }
    MutexLock lock(mu_);
    ++undone_;
  }
}

void Scheduler::Forget() {
  std::erase_if(looks_, [&](const auto& entry) {
    return entry.second.in_flight == 0 && model_.gangs().count(entry.first) == 0;
  });
  MutexLock lock(mu_);
  if (verdicts_.size() <= jobs_.size()) return;
  std::map<std::string, PlacementView> kept;
  for (const JobCache::Object& job : jobs_.List()) {
    const auto it = verdicts_.find(job->uid);
    if (it != verdicts_.end()) kept.insert(*it);
  }
  verdicts_ = std::move(kept);
}

int Scheduler::RunOnce() {
  int bound = 0;
  {
    MutexLock lock(model_mu_);
    Drain();
    bound = TakeWritten();
    Forget();
    Repeat();
    model_.Tree();
    ReportFindings();
    BindThoseWithVolumes();
    for (const std::string& uid : InOrder()) Schedule(uid);
    UndoHalves();
  }
  if (options_.writes_apart) return bound;
  while (writer_.RunNext()) {
  }
  MutexLock lock(model_mu_);
  return bound + TakeWritten();
}

GangReport Scheduler::Explain(const TrainingJob& job) const {
  MutexLock lock(model_mu_);
  const auto found = model_.gangs().find(job.uid);
  if (found == model_.gangs().end()) {
    GangReport report;
    report.verdict = Verdict(job.uid);
    report.nodes = model_.nodes();
    return report;
  }
  const Gang& gang = found->second;
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  const PodRecord& pod =
      gang.unbound.empty() ? *gang.bound.begin()->second.pod : *gang.unbound.begin()->second;
  GangReport report = ReportGang(model_, MakeGangRequest(job, spec, gang), pod);
  for (WorkerPlace& worker : report.workers) {
    for (const auto& [place, bound] : gang.bound) {
      if (place.first == worker.index) worker.pod = place.second;
    }
  }
  for (const auto& [place, waiting] : gang.unbound) {
    report.workers.push_back({place.first, place.second, "", ""});
  }
  report.verdict = Verdict(job.uid);
  return report;
}

Scheduler::Forecast Scheduler::WhatIf(const TrainingJob& job, const PodRecord& pod) const {
  v1alpha1::TrainingJobSpec spec = job.spec;
  Default(spec);
  Gang gang;
  for (int i = 0; i < spec.workers().count(); ++i) {
    gang.unbound[{i, ""}] = std::make_shared<const PodRecord>(pod);
  }
  MutexLock lock(model_mu_);
  const PartialGang request = MakeGangRequest(job, spec, gang);
  return {ReportGang(model_, request, pod), PlaceGang(model_, request, MissingPods(gang))};
}

DomainReport Scheduler::Tree(int depth) const {
  MutexLock lock(model_mu_);
  return ReportTree(model_, depth);
}

PlacementView Scheduler::Verdict(const std::string& job_uid) const {
  MutexLock lock(mu_);
  const auto it = verdicts_.find(job_uid);
  return it == verdicts_.end() ? PlacementView{} : it->second;
}

int64_t Scheduler::binds() const {
  MutexLock lock(mu_);
  return binds_;
}

int64_t Scheduler::undone() const {
  MutexLock lock(mu_);
  return undone_;
}

std::map<NodeFault, int64_t> Scheduler::NodeFaults() const {
  MutexLock lock(mu_);
  return node_faults_;
}

std::vector<TopologyFinding> Scheduler::TopologyFindings() const {
  MutexLock lock(mu_);
  return findings_;
}

}  // namespace muster::control
