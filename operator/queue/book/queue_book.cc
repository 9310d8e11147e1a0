#include "operator/queue/book/queue_book.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

constexpr char kDefaultQueue[] = "default";

double PartLeft(absl::Duration passed, absl::Duration half_life) {
  if (half_life <= absl::ZeroDuration()) return 0;
  return std::exp2(-absl::FDivDuration(passed, half_life));
}

}  // namespace

double DecayedMean(double mean, double used, absl::Duration passed, absl::Duration half_life) {
  if (passed <= absl::ZeroDuration()) return mean;
  return used + (mean - used) * PartLeft(passed, half_life);
}

QuotaNeed JobEntry::Need(int64_t workers) const {
  QuotaNeed need = per_worker;
  for (auto& [resource, amount] : need) amount *= workers;
  return need;
}

int JobEntry::NodeOf(const TopologyTree& nodes, int worker) const {
  const std::vector<TopologyTree::Domain>& hosts = nodes.level(nodes.node_level());
  node_at_.resize(job.nodes.size(), -1);
  int& at = node_at_[worker];
  if (at < 0 || at >= static_cast<int>(hosts.size()) || hosts[at].name != job.nodes[worker]) {
    at = nodes.FindNode(job.nodes[worker]).value_or(-1);
  }
  return at;
}

bool WaitsBefore::operator()(const JobEntry* a, const JobEntry* b) const {
  OrderKey left;
  left.rank = a->rank;
  left.created = a->job.created;
  left.uid = a->job.uid;
  OrderKey right;
  right.rank = b->rank;
  right.created = b->job.created;
  right.uid = b->job.uid;
  return ComesBefore(left, right);
}

QueueBook::State::State(const BookOptions& with) : options(with) {}

const std::string& QueueBook::State::QueueOf(const QueuedJob& job) {
  static const std::string* const kDefault = new std::string(kDefaultQueue);
  return job.queue.empty() ? *kDefault : job.queue;
}

void QueueBook::State::Settle(absl::Time now, int queue) {
  QueueEntry& entry = queues[queue];
  const absl::Duration passed = now - entry.past_at;
  if (passed <= absl::ZeroDuration()) return;
  entry.past_at = now;
  const double left = PartLeft(passed, options.half_life);
  for (int r = 0; r < tree->resources(); ++r) {
    const double used = static_cast<double>(use->used(queue, r));
    entry.past[r] = used + (entry.past[r] - used) * left;
  }
}

double QueueBook::State::ShareOf(absl::Time now, int queue, const std::vector<int64_t>& claimed) {
  Settle(now, queue);
  const QueueEntry& entry = queues[queue];
  double most = 0;
  for (int r = 0; r < tree->resources(); ++r) {
    if (capacity_of[r] <= 0) continue;
    const int64_t more = claimed.empty() ? 0 : claimed[r];
    const double used = static_cast<double>(use->used(queue, r) + more);
    most = std::max(most, (used + entry.past[r]) / 2 / capacity_of[r]);
  }
  return most / (entry.spec.weight > 0 ? entry.spec.weight : 1);
}

void QueueBook::State::Count(absl::Time now, JobEntry& entry, int sign) {
  const QuotaNeed need = entry.Need(entry.job.workers());
  Settle(now, entry.queue);
  if (sign > 0) {
    use->Add(entry.queue, need);
  } else {
    use->Remove(entry.queue, need);
  }
  std::vector<int64_t>& used = queues[entry.queue].used_by_namespace[entry.job.ns];
  used.resize(tree->resources());
  for (const auto& [resource, amount] : need) used[resource] += sign * amount;
}

double QueueBook::State::RankOf(const JobEntry& entry, absl::Time now) const {
  const absl::Time since = entry.job.created + RanBy(entry.job, now);
  return AgedRank(entry.job.priority, since, options.aging);
}

absl::Time QueueBook::State::ProtectedUntil(const JobEntry& entry) const {
  if (entry.queue < 0) return absl::InfinitePast();
  const absl::Duration least = queues[entry.queue].spec.min_runtime;
  return least > absl::ZeroDuration() ? entry.job.started + least : absl::InfinitePast();
}

absl::Time QueueBook::State::ShrinksOthersFrom(const JobEntry& waiting) const {
  if (waiting.queue < 0) return absl::InfiniteFuture();
  const std::optional<absl::Duration>& after = queues[waiting.queue].spec.shrink_after;
  // It has not waited while it ran.
  return after ? waiting.job.created + waiting.job.ran + *after : absl::InfiniteFuture();
}

std::vector<Leaver> QueueBook::State::LeaversAfter(absl::Time now, absl::Duration grace) const {
  std::vector<Leaver> leavers;
  for (const QueueEntry& queue : queues) {
    for (const JobEntry* entry : queue.running) {
      const int workers = entry->job.workers();
      const int staying = StayingAfter(entry->job, now, grace);
      if (staying < workers) leavers.push_back({entry, staying, workers});
    }
  }
  return leavers;
}

void QueueBook::State::Insert(absl::Time now, JobEntry& entry) {
  entry.queue = tree->FindQueue(QueueOf(entry.job));
  entry.rank = RankOf(entry, now);
  if (!entry.job.running()) ++waiting;
  if (entry.queue < 0) {
    jobs_without_queue.insert(&entry);
    return;
  }
  entry.per_worker = tree->NeedOf(entry.job.quota_per_worker, 1);
  if (entry.job.running()) {
    queues[entry.queue].running.insert(&entry);
    Count(now, entry, 1);
  } else {
    queues[entry.queue].waiting.insert(&entry);
  }
}

void QueueBook::State::Erase(absl::Time now, JobEntry& entry) {
  if (!entry.job.running()) --waiting;
  if (entry.queue < 0) {
    jobs_without_queue.erase(&entry);
  } else if (entry.job.running()) {
    Count(now, entry, -1);
    queues[entry.queue].running.erase(&entry);
  } else {
    queues[entry.queue].waiting.erase(&entry);
  }
}

void QueueBook::State::Move(absl::Time now, JobEntry& entry, std::vector<std::string> nodes) {
  Erase(now, entry);
  entry.job.nodes = std::move(nodes);
  Insert(now, entry);
}

QueueBook::QueueBook(const BookOptions& options) : state_(std::make_unique<State>(options)) {
  SetQueues(absl::UnixEpoch(), {});
}

QueueBook::~QueueBook() = default;

void QueueBook::SetQueues(absl::Time now, const std::vector<QueueSpec>& queues) {
  const BookMemory memory = Memory(now);
  for (auto& [uid, entry] : state_->jobs) {
    if (state_->tree != nullptr) state_->Erase(now, *entry);
  }
  state_->specs = queues;
  const bool has_default = std::any_of(queues.begin(), queues.end(), [](const QueueSpec& spec) {
    return spec.name == kDefaultQueue;
  });
  if (!has_default) {
    state_->specs.emplace_back();
    state_->specs.back().name = kDefaultQueue;
  }
  std::vector<std::string> resources;
  for (const auto& [resource, amount] : state_->capacity) resources.push_back(resource);
  state_->use.reset();
  state_->tree = std::make_unique<QuotaTree>(state_->specs, resources);
  state_->use = std::make_unique<QuotaUse>(*state_->tree);
  const QuotaTree& tree = *state_->tree;
  state_->capacity_of.assign(tree.resources(), 0);
  for (int r = 0; r < tree.resources(); ++r) {
    const auto found = state_->capacity.find(tree.resource_name(r));
    if (found != state_->capacity.end()) state_->capacity_of[r] = found->second;
  }
  state_->queues.clear();
  state_->queues.resize(tree.queues());
  for (int i = 0; i < tree.queues(); ++i) {
    state_->queues[i].spec.name = tree.queue_name(i);
    state_->queues[i].past.resize(tree.resources());
    state_->queues[i].past_at = now;
  }
  for (const QueueSpec& spec : state_->specs) {
    state_->queues[tree.FindQueue(spec.name)].spec = spec;
  }
  std::set<JobEntry*, UidBefore> jobs;
  for (auto& [uid, entry] : state_->jobs) jobs.insert(entry.get());
  for (JobEntry* entry : jobs) state_->Insert(now, *entry);
  Remember(memory);
}

void QueueBook::SetCapacity(const Amounts& capacity) {
  if (state_->capacity == capacity) return;
  const bool same_names =
      std::equal(capacity.begin(), capacity.end(), state_->capacity.begin(), state_->capacity.end(),
                 [](const auto& a, const auto& b) { return a.first == b.first; });
  state_->capacity = capacity;
  if (!same_names) {
    absl::Time at = absl::UnixEpoch();
    for (const QueueEntry& queue : state_->queues) at = std::max(at, queue.past_at);
    SetQueues(at, std::vector<QueueSpec>(state_->specs));
    return;
  }
  for (int r = 0; r < state_->tree->resources(); ++r) {
    const auto found = capacity.find(state_->tree->resource_name(r));
    if (found != capacity.end()) state_->capacity_of[r] = found->second;
  }
}

void QueueBook::Upsert(absl::Time now, QueuedJob job) {
  std::unique_ptr<JobEntry>& entry = state_->jobs[job.uid];
  if (entry == nullptr) {
    entry = std::make_unique<JobEntry>();
  } else {
    state_->Erase(now, *entry);
    if (job.leaving > 0 && job.leaves_for.empty()) job.leaves_for = entry->job.leaves_for;
  }
  if (job.leaving == 0) job.leaves_for.clear();
  // A job that waits again keeps the age it had when it started.
  if (!job.running()) job.ran = std::max(job.ran, RanBy(entry->job, now));
  entry->job = std::move(job);
  if (entry->job.running()) {
    entry->claimed_since.reset();
    entry->reserved_since.reset();
  }
  state_->Insert(now, *entry);
}

bool QueueBook::Remove(absl::Time now, const std::string& uid) {
  const auto found = state_->jobs.find(uid);
  if (found == state_->jobs.end()) return false;
  state_->Erase(now, *found->second);
  state_->jobs.erase(found);
  return true;
}

void QueueBook::Progress(const std::string& uid, absl::Time checkpointed,
                         std::optional<absl::Time> ends) {
  const auto found = state_->jobs.find(uid);
  if (found == state_->jobs.end()) return;
  found->second->job.checkpointed = checkpointed;
  found->second->job.ends = ends;
}

void QueueBook::SetFitsNowhere(const std::string& uid, bool fits_nowhere) {
  const auto found = state_->jobs.find(uid);
  if (found != state_->jobs.end()) found->second->job.fits_nowhere = fits_nowhere;
}

const QueuedJob* QueueBook::Find(const std::string& uid) const {
  const auto found = state_->jobs.find(uid);
  return found == state_->jobs.end() ? nullptr : &found->second->job;
}

int64_t QueueBook::jobs() const { return static_cast<int64_t>(state_->jobs.size()); }

int64_t QueueBook::waiting() const { return state_->waiting; }

std::vector<QueueBook::QueueView> QueueBook::Queues(absl::Time now) const {
  std::vector<QueueView> views;
  const QuotaTree& tree = *state_->tree;
  for (int i = 0; i < tree.queues(); ++i) {
    const QueueEntry& queue = state_->queues[i];
    QueueView view;
    view.name = queue.spec.name;
    view.parent = queue.spec.parent;
    view.weight = queue.spec.weight;
    view.share = state_->ShareOf(now, i);
    view.running = static_cast<int64_t>(queue.running.size());
    view.waiting = static_cast<int64_t>(queue.waiting.size());
    for (int r = 0; r < tree.resources(); ++r) {
      const std::string& resource = tree.resource_name(r);
      if (state_->use->used(i, r) > 0) view.used[resource] = state_->use->used(i, r);
      if (tree.nominal(i, r) > 0) view.nominal[resource] = tree.nominal(i, r);
      const double past = state_->queues[i].past[r];
      if (past > 0) view.past[resource] = past;
      view.borrowing = view.borrowing || state_->use->OverQuota(i, {{r, 0}});
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<const QueuedJob*> QueueBook::WaitingInOrder(const std::string& queue) const {
  std::vector<const QueuedJob*> jobs;
  const int at = state_->tree->FindQueue(queue);
  if (at < 0) return jobs;
  for (const JobEntry* entry : state_->queues[at].waiting) jobs.push_back(&entry->job);
  return jobs;
}

int64_t QueueBook::PositionOf(const std::string& uid) const {
  const auto found = state_->jobs.find(uid);
  if (found == state_->jobs.end()) return 0;
  JobEntry* entry = found->second.get();
  if (entry->queue < 0 || entry->job.running()) return 0;
  const auto& waiting = state_->queues[entry->queue].waiting;
  return 1 + std::distance(waiting.begin(), waiting.find(entry));
}

absl::Time QueueBook::ShrinksOthersFrom(const std::string& uid) const {
  const auto found = state_->jobs.find(uid);
  if (found == state_->jobs.end() || found->second->job.running()) return absl::InfiniteFuture();
  return state_->ShrinksOthersFrom(*found->second);
}

BookMemory QueueBook::Memory(absl::Time now) const {
  BookMemory memory;
  memory.options = state_->options;
  memory.capacity = state_->capacity;
  memory.at = now;
  for (int i = 0; i < static_cast<int>(state_->queues.size()); ++i) {
    state_->Settle(now, i);
    const QueueEntry& queue = state_->queues[i];
    for (size_t r = 0; r < queue.past.size(); ++r) {
      if (queue.past[r] <= 0) continue;
      memory.past_use[queue.spec.name][state_->tree->resource_name(r)] = queue.past[r];
    }
  }
  for (const auto& [uid, entry] : state_->jobs) {
    if (entry->reserved_since) memory.reserved_since[uid] = *entry->reserved_since;
    if (entry->claimed_since) memory.claimed_since[uid] = *entry->claimed_since;
  }
  return memory;
}

void QueueBook::RememberPast(absl::Time now,
                             const std::map<std::string, std::map<std::string, double>>& past_use) {
  BookMemory memory = Memory(now);
  memory.past_use = past_use;
  Remember(memory);
}

void QueueBook::Remember(const BookMemory& memory) {
  for (QueueEntry& queue : state_->queues) {
    queue.past_at = memory.at;
    const auto past = memory.past_use.find(queue.spec.name);
    for (size_t r = 0; r < queue.past.size(); ++r) {
      queue.past[r] = 0;
      if (past == memory.past_use.end()) continue;
      const auto amount = past->second.find(state_->tree->resource_name(r));
      if (amount != past->second.end()) queue.past[r] = amount->second;
    }
  }
  for (auto& [uid, entry] : state_->jobs) {
    const auto reserved = memory.reserved_since.find(uid);
    const auto claimed = memory.claimed_since.find(uid);
    entry->reserved_since.reset();
    entry->claimed_since.reset();
    if (reserved != memory.reserved_since.end()) entry->reserved_since = reserved->second;
    if (claimed == memory.claimed_since.end()) continue;
    entry->claimed_since = claimed->second;
    state_->may_have_claims = true;
  }
}

}  // namespace muster::control
