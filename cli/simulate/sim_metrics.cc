#include "cli/simulate/sim_metrics.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace muster::cli {
namespace {

constexpr char kDefaultQueue[] = "default";

double At(const std::vector<double>& sorted, double fraction) {
  return sorted[static_cast<size_t>(fraction * static_cast<double>(sorted.size() - 1))];
}

WaitStats StatsOf(std::vector<double> waits) {
  std::sort(waits.begin(), waits.end());
  WaitStats stats;
  stats.jobs = static_cast<int64_t>(waits.size());
  stats.mean = std::accumulate(waits.begin(), waits.end(), 0.0) / static_cast<double>(stats.jobs);
  stats.median = At(waits, 0.5);
  stats.p95 = At(waits, 0.95);
  stats.most = waits.back();
  return stats;
}

}  // namespace

SimMetrics::SimMetrics(const SimCluster& cluster, const control::TopologyTree& tree,
                       const std::vector<SimJob>& jobs)
    : tree_(tree),
      gpus_(cluster.capacity.contains(kGpuResource) && cluster.capacity.at(kGpuResource) > 0) {
  start_ = last_ = last_end_ = jobs.empty() ? absl::UnixEpoch() : jobs.front().job.created;
  const int nodes = static_cast<int>(tree.level(tree.node_level()).size());
  for (int i = 0; i < nodes; ++i) {
    capacity_ += AmountIn(tree.node(i).allocatable);
    node_free_.push_back(AmountIn(tree.node(i).free));
    free_ += node_free_.back();
  }
  node_fragmented_.resize(nodes);
  auto add = [this](const std::string& name, double weight) {
    if (!queue_index_.emplace(name, queues_.size()).second) return;
    queues_.push_back(name);
    weights_.push_back(weight);
  };
  for (const control::QueueSpec& queue : cluster.queues) add(queue.name, queue.weight);
  for (const SimJob& job : jobs) add(job.job.queue.empty() ? kDefaultQueue : job.job.queue, 1);
  used_.resize(queues_.size());
  waiting_.resize(queues_.size());
  served_.resize(queues_.size());
  waited_seconds_.resize(queues_.size());
}

int64_t SimMetrics::AmountIn(const control::Resources& amount) const {
  return gpus_ ? amount.gpus : amount.cpu_millis;
}

size_t SimMetrics::QueueOf(const SimJob& job) const {
  return queue_index_.at(job.job.queue.empty() ? kDefaultQueue : job.job.queue);
}

void SimMetrics::Advance(absl::Time now) {
  const double seconds = absl::ToDoubleSeconds(now - last_);
  last_ = now;
  if (seconds <= 0) return;
  bool waits = false;
  for (size_t q = 0; q < used_.size(); ++q) {
    used_seconds_ += seconds * static_cast<double>(used_[q]);
    if (waiting_[q] == 0) continue;
    waits = true;
    waited_seconds_[q] += seconds;
    served_[q] += seconds * static_cast<double>(used_[q]);
  }
  if (!waits || free_ <= 0) return;
  fragmentation_sum_ += seconds * static_cast<double>(fragmented_) / static_cast<double>(free_);
  fragmentation_seconds_ += seconds;
}

void SimMetrics::Started(const SimJob& job, absl::Time now, bool first) {
  --waiting_[QueueOf(job)];
  if (first) waits_[job.job_class].push_back(absl::ToDoubleSeconds(now - job.job.created));
}

void SimMetrics::Used(const SimJob& job, int64_t workers, const std::vector<int>& nodes) {
  used_[QueueOf(job)] += workers * AmountIn(job.job.request.per_worker);
  for (int node : nodes) {
    const int64_t free = AmountIn(tree_.node(node).free);
    const int64_t fragmented = free < AmountIn(tree_.node(node).allocatable) ? free : 0;
    free_ += free - node_free_[node];
    fragmented_ += fragmented - node_fragmented_[node];
    node_free_[node] = free;
    node_fragmented_[node] = fragmented;
  }
}

void SimMetrics::Finished(absl::Time now) { last_end_ = now; }

void SimMetrics::Mark(absl::Time now) {
  const double at = absl::ToDoubleSeconds(now - start_);
  const int64_t waiting = std::accumulate(waiting_.begin(), waiting_.end(), int64_t{0});
  if (!occupancy_.empty() && occupancy_.back().at == at) occupancy_.pop_back();
  occupancy_.push_back({at, waiting, used_});
}

void SimMetrics::Fill(SimReport& report) {
  report.makespan = absl::ToDoubleSeconds(last_end_ - start_);
  report.resource = gpus_ ? kGpuResource : kCpuResource;
  report.capacity = capacity_;
  const double all = static_cast<double>(capacity_) * report.makespan;
  if (all > 0) report.utilisation = used_seconds_ / all;
  if (fragmentation_seconds_ > 0) {
    report.fragmentation = fragmentation_sum_ / fragmentation_seconds_;
  }
  double sum = 0;
  double squares = 0;
  int queues = 0;
  for (size_t q = 0; q < queues_.size(); ++q) {
    if (waited_seconds_[q] <= 0) continue;
    const double rate = served_[q] / waited_seconds_[q] / weights_[q];
    sum += rate;
    squares += rate * rate;
    ++queues;
  }
  if (squares > 0) report.fairness = sum * sum / (queues * squares);
  for (auto& [name, waits] : waits_) report.waits[name] = StatsOf(waits);
  report.queues = queues_;
  report.occupancy = std::move(occupancy_);
}

}  // namespace muster::cli
