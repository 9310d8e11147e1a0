#include "operator/queue/record/recorded_input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "operator/queue/record/exact_time.h"

namespace muster::control {
namespace {

namespace pb = v1alpha1;

template <typename Repeated>
void PutAmounts(const Amounts& amounts, Repeated* into) {
  for (const auto& [resource, amount] : amounts) {
    auto* one = into->Add();
    one->set_resource(resource);
    one->set_amount(amount);
  }
}

template <typename Repeated>
Amounts GetAmounts(const Repeated& from) {
  Amounts amounts;
  for (const auto& one : from) amounts[one.resource()] = one.amount();
  return amounts;
}

void Put(const Resources& resources, pb::RecordedResources* into) {
  into->set_gpus(resources.gpus);
  into->set_cpu_millis(resources.cpu_millis);
  into->set_memory_bytes(resources.memory_bytes);
  into->set_slots(resources.slots);
}

Resources Get(const pb::RecordedResources& from) {
  return {from.gpus(), from.cpu_millis(), from.memory_bytes(), from.slots()};
}

void Put(const NodeInventory& node, pb::RecordedNode* into) {
  into->set_name(node.name);
  Put(node.free, into->mutable_free());
  Put(node.allocatable, into->mutable_allocatable());
  into->set_schedulable(node.schedulable);
  for (const std::string& domain : node.domains) into->add_domains(domain);
  into->set_gpu_product(node.gpu_product);
  if (node.spot) into->set_spot_pool(node.spot_pool);
}

NodeInventory Get(const pb::RecordedNode& from) {
  return {from.name(),
          Get(from.free()),
          from.schedulable(),
          {from.domains().begin(), from.domains().end()},
          Get(from.allocatable()),
          from.gpu_product(),
          from.has_spot_pool(),
          from.spot_pool()};
}

void Put(const QueueSpec& queue, pb::RecordedQueue* into) {
  into->set_name(queue.name);
  into->set_parent(queue.parent);
  into->set_weight(queue.weight);
  for (const Quota& quota : queue.quotas) {
    auto* one = into->add_quotas();
    one->set_resource(quota.resource);
    one->set_nominal(quota.nominal);
    if (quota.borrow_limit) one->set_borrow_limit(*quota.borrow_limit);
    if (quota.lend_limit) one->set_lend_limit(*quota.lend_limit);
  }
  for (const NamespaceLimit& limit : queue.namespace_limits) {
    auto* one = into->add_namespace_limits();
    one->set_namespace_(limit.ns);
    PutAmounts(limit.limits, one->mutable_limits());
  }
  for (const std::string& ns : queue.namespaces) into->add_namespaces(ns);
  into->set_preempt_within_queue(static_cast<uint32_t>(queue.preempt_within_queue));
  into->set_reclaim(static_cast<uint32_t>(queue.reclaim));
  into->set_stopped(queue.stopped);
  if (queue.min_runtime != absl::ZeroDuration()) {
    *into->mutable_min_runtime() = ToExact(queue.min_runtime);
  }
  if (queue.shrink_after) *into->mutable_shrink_after() = ToExact(*queue.shrink_after);
}

absl::StatusOr<QueueSpec> Get(const pb::RecordedQueue& from) {
  QueueSpec queue;
  queue.name = from.name();
  queue.parent = from.parent();
  queue.weight = from.weight();
  if (!(queue.weight > 0) || !std::isfinite(queue.weight)) {
    return absl::DataLossError(
        absl::StrCat("queue ", queue.name, " has a weight of ", queue.weight));
  }
  for (const auto& one : from.quotas()) {
    queue.quotas.push_back({one.resource(), one.nominal(), {}, {}});
    if (one.has_borrow_limit()) queue.quotas.back().borrow_limit = one.borrow_limit();
    if (one.has_lend_limit()) queue.quotas.back().lend_limit = one.lend_limit();
  }
  for (const auto& one : from.namespace_limits()) {
    queue.namespace_limits.push_back({one.namespace_(), GetAmounts(one.limits())});
  }
  queue.namespaces.assign(from.namespaces().begin(), from.namespaces().end());
  if (from.preempt_within_queue() > static_cast<uint32_t>(PreemptWithinQueue::kNever) ||
      from.reclaim() > static_cast<uint32_t>(ReclaimFrom::kNever)) {
    return absl::DataLossError(absl::StrCat("queue ", queue.name, " has an unknown policy"));
  }
  queue.preempt_within_queue = static_cast<PreemptWithinQueue>(from.preempt_within_queue());
  queue.reclaim = static_cast<ReclaimFrom>(from.reclaim());
  queue.stopped = from.stopped();
  if (from.has_min_runtime()) queue.min_runtime = FromExact(from.min_runtime());
  if (from.has_shrink_after()) queue.shrink_after = FromExact(from.shrink_after());
  return queue;
}

void Put(const GangRequest& request, pb::RecordedRequest* into) {
  into->set_job(request.job);
  Put(request.per_worker, into->mutable_per_worker());
  into->set_min(request.min);
  into->set_max(request.max);
  into->set_required_level(request.required_level);
  into->set_preferred_level(request.preferred_level);
  for (const Slice& slice : request.slices) {
    auto* one = into->add_slices();
    one->set_size(slice.size);
    one->set_level(slice.level);
  }
  if (!request.spot.given) return;
  pb::RecordedSpot* spot = into->mutable_spot();
  spot->set_allow(request.spot.allow);
  spot->set_max_fraction(request.spot.max_fraction);
  spot->set_on_demand_floor(request.spot.on_demand_floor);
}

GangRequest Get(const pb::RecordedRequest& from) {
  GangRequest request;
  request.job = from.job();
  request.per_worker = Get(from.per_worker());
  request.min = from.min();
  request.max = from.max();
  request.required_level = from.required_level();
  request.preferred_level = from.preferred_level();
  for (const auto& one : from.slices()) request.slices.push_back({one.size(), one.level()});
  if (!from.has_spot()) return request;
  const pb::RecordedSpot& spot = from.spot();
  request.spot = {true, spot.allow(), spot.max_fraction(), spot.on_demand_floor()};
  return request;
}

void Put(const QueuedJob& job, pb::RecordedJob* into) {
  into->set_uid(job.uid);
  into->set_namespace_(job.ns);
  into->set_name(job.name);
  into->set_queue(job.queue);
  into->set_priority(job.priority);
  into->set_preempts(job.preempts);
  *into->mutable_created() = ToExact(job.created);
  Put(job.request, into->mutable_request());
  PutAmounts(job.quota_per_worker, into->mutable_quota_per_worker());
  if (job.runtime) *into->mutable_runtime() = ToExact(*job.runtime);
  for (const std::string& node : job.nodes) into->add_nodes(node);
  *into->mutable_started() = ToExact(job.started);
  if (job.ends) *into->mutable_ends() = ToExact(*job.ends);
  *into->mutable_checkpointed() = ToExact(job.checkpointed);
  into->set_leaving(job.leaving);
  if (job.ran != absl::ZeroDuration()) *into->mutable_ran() = ToExact(job.ran);
  into->set_leaves_for(job.leaves_for);
  into->set_fits_nowhere(job.fits_nowhere);
  into->mutable_larger_sizes()->Add(job.larger_sizes.begin(), job.larger_sizes.end());
}

absl::StatusOr<QueuedJob> Get(const pb::RecordedJob& from) {
  QueuedJob job;
  job.uid = from.uid();
  job.ns = from.namespace_();
  job.name = from.name();
  job.queue = from.queue();
  job.priority = from.priority();
  job.preempts = from.preempts();
  job.created = TimeFromExact(from.created());
  job.request = Get(from.request());
  job.quota_per_worker = GetAmounts(from.quota_per_worker());
  if (from.has_runtime()) job.runtime = FromExact(from.runtime());
  job.nodes.assign(from.nodes().begin(), from.nodes().end());
  job.started = TimeFromExact(from.started());
  if (from.has_ends()) job.ends = TimeFromExact(from.ends());
  job.checkpointed = TimeFromExact(from.checkpointed());
  job.leaving = from.leaving();
  if (from.has_ran()) job.ran = FromExact(from.ran());
  job.leaves_for = from.leaves_for();
  job.fits_nowhere = from.fits_nowhere();
  job.larger_sizes.assign(from.larger_sizes().begin(), from.larger_sizes().end());
  if (job.leaving < 0 || job.leaving > job.workers()) {
    return absl::DataLossError(absl::StrCat("more workers of job ", job.uid, " leave than it has"));
  }
  return job;
}

void Put(const ScheduleOptions& options, const BookOptions& book, pb::RecordedOptions* into) {
  *into->mutable_stop_grace() = ToExact(options.stop_grace);
  *into->mutable_restart_cost() = ToExact(options.restart_cost);
  *into->mutable_reshape_cost() = ToExact(options.reshape_cost);
  into->set_backfill_depth(options.backfill_depth);
  into->set_reservations(options.reservations);
  into->set_reservations_of_nodes(options.reservations_of_nodes);
  into->set_victim_search_budget(options.victim_search_budget);
  into->set_defragment(options.defragment);
  for (const auto& [level, link] : options.links) {
    auto* one = into->add_links();
    one->set_level(level);
    one->set_gigabytes_per_second(link.gigabytes_per_second);
    one->set_latency_us(link.latency_us);
  }
  *into->mutable_half_life() = ToExact(book.half_life);
  *into->mutable_aging() = ToExact(book.aging);
}

void Get(const pb::RecordedOptions& from, ScheduleOptions& options, BookOptions& book) {
  options.stop_grace = FromExact(from.stop_grace());
  options.restart_cost = FromExact(from.restart_cost());
  options.reshape_cost = FromExact(from.reshape_cost());
  options.backfill_depth = from.backfill_depth();
  options.reservations = from.reservations();
  options.reservations_of_nodes = from.reservations_of_nodes();
  options.victim_search_budget = from.victim_search_budget();
  options.defragment = from.defragment();
  for (const auto& one : from.links()) {
    options.links[one.level()] = {one.gigabytes_per_second(), one.latency_us()};
  }
  book.half_life = FromExact(from.half_life());
  book.aging = FromExact(from.aging());
}

void Put(const std::vector<std::optional<GangAnswer>>& answers, pb::RecordedJob* into) {
  for (const std::optional<GangAnswer>& answer : answers) {
    pb::RecordedAnswer* one = into->add_answers();
    one->set_known(answer.has_value());
    if (!answer) continue;
    one->mutable_nodes()->Assign(answer->nodes.begin(), answer->nodes.end());
    one->set_reason(answer->reason);
    one->set_sentence(answer->sentence);
  }
}

std::vector<std::optional<GangAnswer>> GetAnswers(const pb::RecordedJob& from) {
  std::vector<std::optional<GangAnswer>> answers;
  for (const auto& one : from.answers()) {
    std::optional<GangAnswer>& answer = answers.emplace_back();
    if (!one.known()) continue;
    answer = {{one.nodes().begin(), one.nodes().end()}, one.reason(), one.sentence()};
  }
  return answers;
}

void PutMemory(const BookMemory& memory, pb::RecordedInput* into) {
  PutAmounts(memory.capacity, into->mutable_capacity());
  for (const auto& [queue, uses] : memory.past_use) {
    for (const auto& [resource, amount] : uses) {
      auto* one = into->add_past_use();
      one->set_queue(queue);
      one->set_resource(resource);
      one->set_amount(amount);
    }
  }
  *into->mutable_past_use_at() = ToExact(memory.at);
}

// Adds the sets of nodes that gangs may use to a record, each once however many jobs share it, and
// gives each a number from 1; all nodes have 0. The record must outlive it, as must the sets.
class GangNodesTable {
 public:
  explicit GangNodesTable(pb::RecordedInput* into) : into_(into) {}

  uint32_t NumberOf(const std::shared_ptr<const GangNodes>& nodes);

 private:
  pb::RecordedInput* const into_;
  std::map<const GangNodes*, uint32_t> numbers_;
};

uint32_t GangNodesTable::NumberOf(const std::shared_ptr<const GangNodes>& nodes) {
  if (nodes == nullptr) return 0;
  const auto [at, is_new] =
      numbers_.try_emplace(nodes.get(), static_cast<uint32_t>(numbers_.size() + 1));
  if (!is_new) return at->second;
  auto* one = into_->add_gang_nodes();
  one->mutable_closed()->Assign(nodes->closed.begin(), nodes->closed.end());
  for (const GangNodes::Bound& bound : nodes->bounds) {
    auto* put = one->add_bounds();
    put->set_node(bound.node);
    put->set_workers(bound.workers);
  }
  one->set_left_out(nodes->left_out);
  one->set_social(nodes->inter_pod_constraints);
  return at->second;
}

using GangNodesList = std::vector<std::shared_ptr<const GangNodes>>;

// Returns the recorded sets by their numbers; the first, for all nodes, is null. kDataLoss if one
// names a node that the record does not have.
absl::StatusOr<GangNodesList> GetGangNodes(const pb::RecordedInput& recorded) {
  GangNodesList list = {nullptr};
  const auto known = [&](int node) { return node >= 0 && node < recorded.nodes_size(); };
  for (const auto& one : recorded.gang_nodes()) {
    auto nodes = std::make_shared<GangNodes>();
    nodes->closed.assign(one.closed().begin(), one.closed().end());
    nodes->left_out = one.left_out();
    nodes->inter_pod_constraints = one.social();
    for (const auto& bound : one.bounds()) nodes->bounds.push_back({bound.node(), bound.workers()});
    const bool sound =
        std::all_of(nodes->closed.begin(), nodes->closed.end(), known) &&
        std::all_of(nodes->bounds.begin(), nodes->bounds.end(),
                    [&](const GangNodes::Bound& bound) { return known(bound.node); });
    if (!sound) return absl::DataLossError("a gang names nodes that the cluster does not have");
    list.push_back(std::move(nodes));
  }
  return list;
}

absl::Status GetJobs(const pb::RecordedInput& recorded, const GangNodesList& nodes,
                     DecisionInput& input) {
  BookMemory& memory = input.snapshot.memory;
  for (const auto& one : recorded.jobs()) {
    MUSTER_ASSIGN_OR_RETURN(QueuedJob job, Get(one));
    if (one.has_reserved_since()) {
      memory.reserved_since[job.uid] = TimeFromExact(one.reserved_since());
    }
    if (one.has_claimed_since()) memory.claimed_since[job.uid] = TimeFromExact(one.claimed_since());
    if (one.gang_nodes() >= nodes.size()) return absl::DataLossError("a job's nodes are unknown");
    if (one.gang_nodes() > 0) input.nodes_for[job.uid] = nodes[one.gang_nodes()];
    if (one.answers_size() > 0) input.places_for[job.uid] = GetAnswers(one);
    input.snapshot.jobs.push_back(std::move(job));
  }
  return absl::OkStatus();
}

absl::Status GetRefused(const pb::RecordedInput& recorded, const GangNodesList& nodes,
                        DecisionInput& input) {
  for (const auto& one : recorded.refused()) {
    if (one.gang_nodes() >= nodes.size() || one.reason() >= kUnplaceableReasons) {
      return absl::DataLossError("a refusal has an unknown reason or unknown nodes");
    }
    input.refused.push_back({nodes[one.gang_nodes()],
                             one.shape(),
                             {static_cast<UnplaceableReason>(one.reason()), one.sentence(),
                              one.nearest_feasible_size()}});
  }
  return absl::OkStatus();
}

}  // namespace

v1alpha1::RecordedInput ToRecorded(const DecisionInput& input) {
  const Snapshot& snapshot = input.snapshot;
  pb::RecordedInput recorded;
  *recorded.mutable_now() = ToExact(input.now);
  for (const std::string& level : snapshot.inventory.levels) recorded.add_levels(level);
  for (const NodeInventory& node : snapshot.inventory.nodes) Put(node, recorded.add_nodes());
  for (const QueueSpec& queue : snapshot.queues) Put(queue, recorded.add_queues());
  PutMemory(snapshot.memory, &recorded);
  Put(snapshot.options, snapshot.memory.options, recorded.mutable_options());
  GangNodesTable table(&recorded);
  for (const QueuedJob& job : snapshot.jobs) {
    pb::RecordedJob* into = recorded.add_jobs();
    Put(job, into);
    const auto reserved = snapshot.memory.reserved_since.find(job.uid);
    if (reserved != snapshot.memory.reserved_since.end()) {
      *into->mutable_reserved_since() = ToExact(reserved->second);
    }
    const auto claimed = snapshot.memory.claimed_since.find(job.uid);
    if (claimed != snapshot.memory.claimed_since.end()) {
      *into->mutable_claimed_since() = ToExact(claimed->second);
    }
    const auto nodes = input.nodes_for.find(job.uid);
    if (nodes != input.nodes_for.end()) into->set_gang_nodes(table.NumberOf(nodes->second));
    const auto places = input.places_for.find(job.uid);
    if (places != input.places_for.end()) Put(places->second, into);
  }
  for (const RefusalMemo::Entry& entry : input.refused) {
    auto* one = recorded.add_refused();
    one->set_gang_nodes(table.NumberOf(entry.nodes));
    one->set_shape(entry.shape);
    one->set_reason(static_cast<uint32_t>(entry.answer.reason));
    one->set_sentence(entry.answer.sentence);
    one->set_nearest_feasible_size(entry.answer.nearest_feasible_size);
  }
  return recorded;
}

absl::StatusOr<DecisionInput> FromRecorded(const v1alpha1::RecordedInput& recorded) {
  DecisionInput input;
  Snapshot& snapshot = input.snapshot;
  input.now = TimeFromExact(recorded.now());
  snapshot.inventory.levels.assign(recorded.levels().begin(), recorded.levels().end());
  for (const auto& node : recorded.nodes()) snapshot.inventory.nodes.push_back(Get(node));
  for (const auto& one : recorded.queues()) {
    MUSTER_ASSIGN_OR_RETURN(QueueSpec queue, Get(one));
    snapshot.queues.push_back(std::move(queue));
  }
  snapshot.memory.capacity = GetAmounts(recorded.capacity());
  for (const auto& one : recorded.past_use()) {
    snapshot.memory.past_use[one.queue()][one.resource()] = one.amount();
  }
  snapshot.memory.at = TimeFromExact(recorded.past_use_at());
  Get(recorded.options(), snapshot.options, snapshot.memory.options);
  MUSTER_ASSIGN_OR_RETURN(const GangNodesList nodes, GetGangNodes(recorded));
  MUSTER_RETURN_IF_ERROR(GetJobs(recorded, nodes, input));
  MUSTER_RETURN_IF_ERROR(GetRefused(recorded, nodes, input));
  return input;
}

}  // namespace muster::control
