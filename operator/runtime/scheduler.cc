#include "operator/runtime/scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "operator/queue/decision_input.h"
#include "operator/queue/forecast.h"
#include "operator/queue/queue_from_spec.h"
#include "operator/queue/queued_job.h"
#include "operator/queue/what_if.h"
#include "operator/runtime/gang_request.h"

namespace muster::control {
namespace {

using State = JobStanding::State;

constexpr size_t kFindingsToLog = 20;
// Reservations and shares move with the clock: a cycle that would decide the same by all else is
// made again after this.
constexpr absl::Duration kDecideAgain = absl::Seconds(5);

// The API shows four digits: a score is no more exact than that.
double Shown(double score) { return std::round(score * 1e4) / 1e4; }

std::string ToText(absl::string_view view) { return std::string(view.data(), view.size()); }

// The newest pod of each worker that has no node.
std::map<int, PodCache::Object> NewestUnbound(const Gang& gang) {
  std::map<int, PodCache::Object> pods;
  for (const auto& [place, pod] : gang.unbound) {
    PodCache::Object& newest = pods[place.first];
    if (newest == nullptr || newest->view.incarnation < pod->view.incarnation) newest = pod;
  }
  return pods;
}

// Reasons about the cluster, as Place gives them; the others are about the queue.
bool IsOfPlace(ScheduleReason reason) {
  switch (reason) {
    case ScheduleReason::kInvalidRequest:
    case ScheduleReason::kNoNodeBigEnough:
    case ScheduleReason::kInsufficient:
    case ScheduleReason::kTopology:
      return true;
    default:
      return false;
  }
}

UnplaceableReason PlaceReason(ScheduleReason reason) {
  switch (reason) {
    case ScheduleReason::kInvalidRequest:
      return UnplaceableReason::kInvalidRequest;
    case ScheduleReason::kNoNodeBigEnough:
      return UnplaceableReason::kNoNodeBigEnough;
    case ScheduleReason::kTopology:
      return UnplaceableReason::kTopology;
    default:
      return UnplaceableReason::kInsufficient;
  }
}

}  // namespace

Scheduler::Scheduler(kube::Api& api, const Clock& clock, JobCache& jobs, PodCache& pods,
                     NodeCache& nodes, std::function<void(const std::string&)> on_verdict,
                     SchedulerOptions options, std::function<void()> wake)
    : clock_(clock),
      jobs_(jobs),
      options_(std::move(options)),
      writer_(api, std::move(wake)),
      feed_(jobs, pods, nodes),
      verdicts_(std::move(on_verdict)),
      gate_(model_),
      book_({jobs_, model_, holders_, verdicts_}, options_.book),
      writes_(writer_, model_, clock_, options_.volume_deadline,
              [this](const std::string& uid) { book_.Touch(uid); }),
      halves_(options_.undo_after),
      notes_(options_.recorder) {
  model_.SetLevels(options_.topology_levels);
}

void Scheduler::FollowQueues(QueueCache& queues, PriorityCache& priorities) {
  queues_ = &queues;
  priorities_ = &priorities;
  feed_.Follow(queues, priorities);
}

void Scheduler::SetTopologyLevels(std::vector<std::string> keys) {
  MutexLock lock(model_mu_);
  model_.SetLevels(std::move(keys));
}

void Scheduler::Follow() {
  MutexLock lock(model_mu_);
  Drain();
}

void Scheduler::Drain() {
  const SchedulerFeed::Changes changes = feed_.Take();
  for (const auto& change : changes.cluster) change(model_.Storage());
  for (const auto& [name, node] : changes.nodes) {
    if (node != nullptr && node->scheduling->complaint) {
      MUSTER_LOG_LIMITED(WARN, name, "a node is set aside for what it says of itself",
                         {"node", name}, {"why", node->scheduling->complaint->sentence});
    }
    model_.PutNode(name, node);
  }
  for (const auto& [key, pod] : changes.pods) {
    model_.PutPod(key, pod);
    holders_.Put(key, pod);
  }
  for (const auto& [uid, key] : changes.jobs) book_.Touch(uid, key);
  if (changes.priorities) book_.SetPriorities(*priorities_);
  if (changes.queues) ReadQueues();
}

void Scheduler::ReadQueues() {
  std::vector<QueueSpec> specs;
  for (const QueueCache::Object& queue : queues_->List()) {
    absl::StatusOr<QueueSpec> spec = QueueFromSpec(queue->name, queue->spec);
    if (spec.ok()) {
      specs.push_back(*std::move(spec));
      continue;
    }
    MUSTER_LOG_LIMITED(WARN, queue->name, "queue ignored", {"queue", queue->name},
                       {"error", spec.status()});
  }
  book_.SetQueues(clock_.Wall(), specs);
}

void Scheduler::ReadCapacity() {
  model_.Tree();
  if (!book_.has_queues() || capacity_at_ == model_.changes()) return;
  capacity_at_ = model_.changes();
  Amounts capacity;
  for (int i = 0; i < model_.nodes(); ++i) AddCapacity(model_.NodeAt(i), capacity);
  book_.SetCapacity(capacity);
}

int Scheduler::TakeWritten() {
  const int bound = writes_.Take();
  MutexLock lock(mu_);
  binds_ += bound;
  return bound;
}

void Scheduler::Forget() {
  writes_.Forget();
  verdicts_.Forget(jobs_);
  notes_.Forget([&](const std::string& uid) { return book_.Find(uid) == nullptr; });
  std::erase_if(looks_, [&](const auto& entry) { return model_.gangs().count(entry.first) == 0; });
}

void Scheduler::BindThoseWithVolumes() {
  for (const auto& [uid, why_not] : writes_.TakeVolumes()) {
    const JobStanding* standing = book_.Find(uid);
    if (standing == nullptr || standing->job == nullptr || model_.gangs().count(uid) == 0) continue;
    Refuse(uid, *standing,
           {kConstraintsReason, absl::StrCat("its volumes are not there: ", why_not), false});
  }
}

void Scheduler::Refuse(const std::string& uid, const JobStanding& standing,
                       const PlacementRefusal& no) {
  const Gang& gang = model_.gangs().at(uid);
  PlacementView verdict = gang.bound.empty() ? PlacementView{} : verdicts_.Of(uid);
  verdict.reason = no.reason;
  verdict.sentence = no.sentence;
  verdict.queued = false;
  SetVerdict(standing, std::move(verdict));
  looks_[uid].refusal = no.sentence;
  writes_.Refuse(uid, gang, no.sentence);
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

std::string Scheduler::PriorityComplaint(const std::string& class_name) const {
  return priorities_ == nullptr ? "" : MissingPriorityClass(*priorities_, class_name);
}

void Scheduler::SetVerdict(const JobStanding& standing, PlacementView verdict) {
  if (!verdict.reason.empty()) {
    const std::string complaint = PriorityComplaint(standing.spec.priority_class_name());
    if (!complaint.empty()) absl::StrAppend(&verdict.sentence, "; ", complaint);
  }
  verdicts_.Set(clock_.Monotonic(), *standing.job, std::move(verdict));
}

// The oldest job first.
void Scheduler::ReplaceLost() {
  std::set<std::pair<absl::Time, std::string>> order;
  for (const std::string& uid : model_.waiting()) {
    const JobStanding* standing = book_.Find(uid);
    if (standing == nullptr || standing->state != State::kRunning) continue;
    const bool lost = model_.gangs().at(uid).unbound.begin()->first.first < standing->entitled;
    if (lost) order.emplace(standing->queued.created, uid);
  }
  for (const auto& [created, uid] : order) Replace(uid, *book_.Find(uid));
}

void Scheduler::Replace(const std::string& uid, const JobStanding& standing) {
  const Gang& gang = model_.gangs().at(uid);
  if (writes_.MustPause(uid) || writes_.WaitsForVolumes(uid)) return;
  Look& look = looks_[uid];
  const bool seen = look.changes == model_.changes() && look.version == gang.version &&
                    look.generation == standing.generation;
  if (seen) return writes_.Refuse(uid, gang, look.refusal);
  // What starts anew starts as a whole.
  if (gang.bound.empty() && static_cast<int>(gang.unbound.size()) < standing.entitled) return;
  const Gang own = WorkersBelow(gang, standing.entitled);
  const PartialGang request = MakeGangRequest(*standing.job, standing.spec, own);
  const PlacementAnswer answer = PlaceGang(model_, request, MissingPods(own));
  look = {model_.changes(), gang.version, standing.generation, ""};
  if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
    if (gang.bound.empty()) return book_.Demote(uid);
    return Refuse(uid, standing, *no);
  }
  const Completion& completion = std::get<Completion>(answer);
  writes_.TakeRefusalBack(uid);
  const std::map<int, PodCache::Object> pods = NewestUnbound(own);
  std::vector<GangWrites::Member> members;
  for (const auto& [worker, node] : completion.nodes) members.push_back({pods.at(worker), node});
  writes_.Bind(uid, members);
  SetVerdict(standing,
             {"", "", Shown(completion.gang.score), completion.gang.level, completion.gang.domain});
}

bool Scheduler::MustDecide() {
  const bool changed = book_.TakeChanged();
  const absl::Time now = clock_.Monotonic();
  const bool again = book_.has_queues() && book_.book().waiting() > 0 && now >= decide_again_;
  if (!changed && decided_at_ == model_.changes() && !again) return false;
  decide_again_ = now + kDecideAgain;
  return true;
}

ScheduleOptions Scheduler::OptionsOfCycle() const {
  ScheduleOptions options = options_.queues;
  options.gate = &gate_;
  if (!book_.has_queues()) {
    options.reservations = 0;
    options.backfill_depth = std::numeric_limits<int>::max();
  }
  return options;
}

void Scheduler::Decide() {
  if (std::exchange(refused_at_, model_.changes()) != model_.changes()) {
    refused_.Clear();
    told_.clear();
  }
  decided_at_ = model_.changes();
  ScheduleOptions options = OptionsOfCycle();
  options.refused = &refused_;
  const std::vector<Decision> decisions =
      notes_.Schedule(clock_.Wall(), model_.Tree(), book_.book(), options);
  for (const Decision& decision : decisions) CarryOut(decision);
  if (book_.has_queues()) TellBehind(decisions);
  // What was decided is in the book already.
  book_.Update(clock_.Wall());
  book_.TakeChanged();
}

void Scheduler::CarryOut(const Decision& decision) {
  const JobStanding* standing = book_.Find(decision.job);
  if (standing == nullptr || standing->job == nullptr) return;
  if (decision.action != ScheduleAction::kWait) {
    MutexLock lock(mu_);
    ++decisions_[ToText(ScheduleActionName(decision.action))];
  }
  switch (decision.action) {
    case ScheduleAction::kStart:
      return Start(decision, *standing);
    case ScheduleAction::kWait:
      return Wait(decision, *standing);
    case ScheduleAction::kShrink:
    case ScheduleAction::kStop:
      return Order(decision, *standing);
    case ScheduleAction::kGrow:
      return Grow(decision, *standing);
  }
}

void Scheduler::StartAsked(const Decision& decision, const JobStanding& standing) {
  const std::string& uid = decision.job;
  const Gang& gang = model_.gangs().at(uid);
  for (const std::string& node : decision.placement.nodes) model_.Recount(node);
  PartialGang request = MakeGangRequest(*standing.job, standing.spec, gang);
  request.request.max = std::max(decision.workers, request.request.min);
  request.missing.resize(std::min(request.missing.size(), static_cast<size_t>(decision.workers)));
  const PlacementAnswer answer = PlaceGang(model_, request, MissingPods(gang));
  if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
    book_.Demote(uid);
    return Refuse(uid, standing, *no);
  }
  const Completion& completion = std::get<Completion>(answer);
  Decision found = decision;
  found.workers = static_cast<int>(completion.nodes.size());
  found.placement = completion.gang;
  found.placement.nodes.clear();
  for (const auto& [worker, node] : completion.nodes) found.placement.nodes.push_back(node);
  Bind(found, standing);
}

void Scheduler::Start(const Decision& decision, const JobStanding& standing) {
  if (gate_.IsOfNodeAlone(decision.job)) return Bind(decision, standing);
  StartAsked(decision, standing);
}

void Scheduler::Bind(const Decision& decision, const JobStanding& standing) {
  const std::string& uid = decision.job;
  writes_.TakeRefusalBack(uid);
  std::vector<GangWrites::Member> members;
  for (const auto& [worker, pod] : NewestUnbound(model_.gangs().at(uid))) {
    if (members.size() == decision.placement.nodes.size()) break;
    members.push_back({pod, decision.placement.nodes[members.size()]});
  }
  writes_.Bind(uid, members);
  book_.Entitle(uid, decision.workers, clock_.Wall());
  SetVerdict(standing, {"", "", Shown(decision.placement.score), decision.placement.level,
                        decision.placement.domain});
}

// Pods that are there are bound; those that its queue had it give up are made first.
void Scheduler::Grow(const Decision& decision, const JobStanding& standing) {
  const std::string& uid = decision.job;
  const std::map<int, PodCache::Object> pods = NewestUnbound(model_.gangs().at(uid));
  std::vector<GangWrites::Member> members;
  for (int worker = standing.entitled; worker < decision.workers; ++worker) {
    const std::string& node = decision.placement.nodes[worker];
    model_.Recount(node);
    const auto pod = pods.find(worker);
    if (pod != pods.end()) members.push_back({pod->second, node});
  }
  const bool all = static_cast<int>(members.size()) == decision.workers - standing.entitled;
  if (all && !gate_.IsOfNodeAlone(uid)) return GrowAsked(decision, standing);
  if (all) {
    writes_.Bind(uid, members);
    book_.Entitle(uid, decision.workers, clock_.Wall());
    SetVerdict(standing, {"", "", Shown(decision.placement.score), decision.placement.level,
                          decision.placement.domain});
    return;
  }
  book_.Entitle(uid, standing.entitled, clock_.Wall());
  if (standing.limit) Order(decision, standing);
}

void Scheduler::GrowAsked(const Decision& decision, const JobStanding& standing) {
  const std::string& uid = decision.job;
  const Gang grown = WorkersBelow(model_.gangs().at(uid), decision.workers);
  const PartialGang request = MakeGangRequest(*standing.job, standing.spec, grown);
  const PlacementAnswer answer = PlaceGang(model_, request, MissingPods(grown));
  const auto* completion = std::get_if<Completion>(&answer);
  if (completion == nullptr) return book_.Entitle(uid, standing.entitled, clock_.Wall());
  const std::map<int, PodCache::Object> pods = NewestUnbound(grown);
  std::vector<GangWrites::Member> members;
  for (const auto& [worker, node] : completion->nodes) members.push_back({pods.at(worker), node});
  writes_.Bind(uid, members);
  book_.Entitle(uid, standing.entitled, clock_.Wall());
}

std::string Scheduler::NameOf(const std::string& uid) const {
  const QueuedJob* job = book_.book().Find(uid);
  return job == nullptr ? uid : absl::StrCat(job->ns, "/", job->name);
}

std::string Scheduler::SentenceOf(Decision decision) const {
  if (!decision.for_job.empty()) decision.for_job = NameOf(decision.for_job);
  if (!decision.numbers.blocked_by.empty()) {
    decision.numbers.blocked_by = NameOf(decision.numbers.blocked_by);
  }
  return Sentence(decision, clock_.Wall());
}

// Written to the job's status by the controller before anything comes of it.
void Scheduler::Order(const Decision& decision, const JobStanding& standing) {
  QueueOrder order;
  order.workers = decision.workers;
  order.reason = ToText(ScheduleReasonName(decision.reason));
  order.sentence = SentenceOf(decision);
  verdicts_.Give(*standing.job, std::move(order), clock_.Wall());
  book_.Touch(decision.job);
}

void Scheduler::Wait(const Decision& decision, const JobStanding& standing) {
  if (IsOfPlace(decision.reason)) return TellNoPlace(decision, standing);
  PlacementView verdict;
  verdict.reason = ToText(ScheduleReasonName(decision.reason));
  verdict.sentence = SentenceOf(decision);
  verdict.queued = true;
  SetVerdict(standing, std::move(verdict));
}

// What the whole of a gang's rules say about it; gangs of one shape are told the same.
void Scheduler::TellNoPlace(const Decision& decision, const JobStanding& standing) {
  const Gang& gang = model_.gangs().at(decision.job);
  const PartialGang request = MakeGangRequest(*standing.job, standing.spec, gang);
  const std::map<int, PodPointer> pods = MissingPods(gang);
  const std::string shape = ShapeOf(request, *pods.begin()->second);
  if (const auto known = told_.find(shape); known != told_.end()) {
    return Refuse(decision.job, standing, known->second);
  }
  const PlacementAnswer answer = PlaceGang(model_, request, pods);
  if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
    if (no->of_shape && !shape.empty()) told_[shape] = *no;
    return Refuse(decision.job, standing, *no);
  }
  // It has a place of less than its queue would let it have.
  const Unplaceable no{PlaceReason(decision.reason), decision.detail,
                       decision.nearest_feasible_size};
  Refuse(
      decision.job, standing,
      {ToText(ScheduleReasonName(decision.reason)), FullSentence(no, request.request, ""), false});
}

// Nobody looked at them.
void Scheduler::TellBehind(const std::vector<Decision>& decisions) {
  std::set<absl::string_view> decided;
  for (const Decision& decision : decisions) decided.insert(decision.job);
  for (const auto& [uid, standing] : book_.all()) {
    if (standing.state != State::kWaiting || decided.count(uid) > 0) continue;
    const std::string& queue = standing.queued.queue;
    SetVerdict(standing, {.reason = ToText(ScheduleReasonName(ScheduleReason::kBehind)),
                          .sentence = absl::StrCat("others are ahead in queue \"",
                                                   queue.empty() ? "default" : queue, "\""),
                          .queued = true});
  }
}

void Scheduler::TellGrowers() {
  for (const std::string& uid : model_.waiting()) {
    const JobStanding* standing = book_.Find(uid);
    if (standing == nullptr || standing->state != State::kRunning) continue;
    const Gang& gang = model_.gangs().at(uid);
    if (gang.unbound.begin()->first.first < standing->entitled || gang.bound.empty()) continue;
    Look& look = looks_[uid];
    const bool seen = look.changes == model_.changes() && look.version == gang.version &&
                      look.generation == standing->generation;
    if (seen) continue;
    look = {model_.changes(), gang.version, standing->generation, ""};
    const PartialGang request = MakeGangRequest(*standing->job, standing->spec, gang);
    const PlacementAnswer answer = PlaceGang(model_, request, MissingPods(gang));
    PlacementView verdict = verdicts_.Of(uid);
    if (const auto* no = std::get_if<PlacementRefusal>(&answer)) {
      verdict.reason = no->reason;
      verdict.sentence = no->sentence;
      writes_.Refuse(uid, gang, no->sentence);
    } else {
      verdict.reason = ToText(ScheduleReasonName(ScheduleReason::kHeldByReservation));
      verdict.sentence = "it grows when its queue has room for more of it";
      verdict.queued = true;
    }
    SetVerdict(*standing, std::move(verdict));
  }
}

int Scheduler::RunOnce() {
  int bound = 0;
  {
    MutexLock lock(model_mu_);
    Drain();
    bound = TakeWritten();
    Forget();
    writes_.Repeat();
    ReadCapacity();
    BindThoseWithVolumes();
    ReportFindings();
    book_.Update(clock_.Wall());
    ReplaceLost();
    book_.Update(clock_.Wall());
    if (MustDecide()) Decide();
    TellGrowers();
    const int undone = halves_.Undo(clock_.Monotonic(), model_, jobs_, verdicts_, writes_);
    MutexLock counters(mu_);
    undone_ += undone;
  }
  if (options_.writes_apart) return bound;
  while (writer_.RunNext()) {
  }
  MutexLock lock(model_mu_);
  return bound + TakeWritten();
}

// The future is looked into without the lock: the cycle goes on meanwhile.
GangReport Scheduler::Explain(const TrainingJob& job) const {
  GangReport report;
  std::optional<DecisionInput> input;
  {
    MutexLock lock(model_mu_);
    report = ExplainGang(model_, job, Verdict(job.uid));
    report.decision = notes_.DecisionOf(job.uid);
    report.now = clock_.Wall();
    report.warning = PriorityComplaint(job.spec.priority_class_name());
    const QueuedJob* queued = book_.book().Find(job.uid);
    if (queued != nullptr && !queued->running()) {
      input = InputAbout({report.now, model_, gate_, book_, OptionsOfCycle()}, job.uid);
    }
  }
  if (input) report.start = ForecastStart(*input, job.uid);
  return report;
}

Scheduler::Forecast Scheduler::WhatIf(const TrainingJob& job, const PodRecord& pod) const {
  Forecast forecast;
  std::pair<DecisionInput, QueuedJob> question;
  {
    MutexLock lock(model_mu_);
    forecast = ForecastGang(model_, job, pod);
    forecast.report.now = clock_.Wall();
    forecast.report.warning = PriorityComplaint(job.spec.priority_class_name());
    question = InputWith({forecast.report.now, model_, gate_, book_, OptionsOfCycle()}, job, pod);
  }
  forecast.queue = AskWhatIf(std::move(question.first), question.second);
  return forecast;
}

DomainReport Scheduler::Tree(int depth) const {
  MutexLock lock(model_mu_);
  return ReportTree(model_, depth);
}

std::vector<QueueReport> Scheduler::Queues(int most_jobs) const {
  MutexLock lock(model_mu_);
  return ReportQueues(clock_.Wall(), book_, verdicts_, most_jobs);
}

int64_t Scheduler::binds() const {
  MutexLock lock(mu_);
  return binds_;
}

int64_t Scheduler::undone() const {
  MutexLock lock(mu_);
  return undone_;
}

std::map<std::string, int64_t> Scheduler::decisions() const {
  MutexLock lock(mu_);
  return decisions_;
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
