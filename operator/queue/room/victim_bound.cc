#include "operator/queue/room/victim_bound.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace muster::control {
namespace {

// An amount of the resource that counts, at a price for each unit.
struct Offer {
  double price;
  int64_t units;
};

// The amount of the resource that workers are most often short of: the first that they ask for.
int64_t Dominant(const Resources& amount, const Resources& per_worker) {
  if (per_worker.gpus > 0) return amount.gpus;
  if (per_worker.cpu_millis > 0) return amount.cpu_millis;
  if (per_worker.memory_bytes > 0) return amount.memory_bytes;
  return amount.slots;
}

// A lower bound on the cost of victims that free the lacking quota; nothing if no set does.
std::optional<double> BoundOfQuota(VictimTrial& trial) {
  double bound = 0;
  for (const auto& [resource, needed] : trial.need()) {
    int64_t lacking = needed - trial.use().Available(trial.queue(), resource);
    if (lacking <= 0) continue;
    std::vector<Offer> offers;
    for (const VictimCandidate& candidate : trial.candidates()) {
      if (!candidate.stoppable) continue;
      for (const auto& [freed, amount] : candidate.entry->Need(candidate.keep)) {
        if (freed == resource && amount > 0) {
          offers.push_back({candidate.stop_cost / static_cast<double>(amount), amount});
        }
      }
    }
    std::sort(offers.begin(), offers.end(),
              [](const Offer& a, const Offer& b) { return a.price < b.price; });
    double cost = 0;
    for (const Offer& offer : offers) {
      const int64_t taken = std::min(lacking, offer.units);
      cost += offer.price * static_cast<double>(taken);
      lacking -= taken;
    }
    if (lacking > 0) return std::nullopt;
    bound = std::max(bound, cost);
  }
  return bound;
}

// Appends the cost of each further worker on a node, using the node's own offers, cheapest first.
void AddIncrements(std::vector<Offer> offers, int64_t free, int64_t per_worker,
                   std::vector<double>& increments) {
  std::sort(offers.begin(), offers.end(),
            [](const Offer& a, const Offer& b) { return a.price < b.price; });
  int64_t lacking = per_worker - std::max<int64_t>(0, free) % per_worker;
  double cost = 0;
  for (Offer& offer : offers) {
    while (offer.units > 0) {
      const int64_t taken = std::min(lacking, offer.units);
      cost += offer.price * static_cast<double>(taken);
      offer.units -= taken;
      lacking -= taken;
      if (lacking > 0) break;
      increments.push_back(cost);
      cost = 0;
      lacking = per_worker;
    }
  }
}

struct DomainOffers {
  std::map<int, std::vector<Offer>> by_node;
};

std::vector<DomainOffers> CollectOffers(VictimTrial& trial, int domains) {
  std::vector<DomainOffers> all(domains);
  for (const VictimCandidate& candidate : trial.candidates()) {
    if (!candidate.stoppable) continue;
    const Resources& each = candidate.entry->job.request.per_worker;
    const int64_t units = Dominant(each, trial.gang().per_worker());
    if (units <= 0) continue;
    std::map<int, std::map<int, int64_t>> freed;  // by domain and node
    std::map<int, int64_t> total;
    for (int i = 0; i < candidate.keep; ++i) {
      const int node = candidate.nodes[i];
      if (node < 0 || !trial.gang().schedulable(node)) continue;
      const int domain = trial.gang().DomainOf(node);
      freed[domain][node] += units;
      total[domain] += units;
    }
    for (const auto& [domain, nodes] : freed) {
      const double price = candidate.stop_cost / static_cast<double>(total[domain]);
      for (const auto& [node, amount] : nodes) {
        all[domain].by_node[node].push_back({price, amount});
      }
    }
  }
  return all;
}

}  // namespace

std::vector<DomainBound> BoundDomains(const TopologyTree& tree, VictimTrial& trial) {
  std::vector<DomainBound> bounds;
  const GangTrial& gang = trial.gang();
  const int64_t per_worker = Dominant(gang.per_worker(), gang.per_worker());
  const std::optional<double> quota = BoundOfQuota(trial);
  if (!quota || gang.need() <= 0) return bounds;
  std::vector<int64_t> have(gang.domains());
  const int nodes = static_cast<int>(tree.level(tree.node_level()).size());
  for (int node = 0; node < nodes && per_worker > 0; ++node) {
    if (!gang.schedulable(node)) continue;
    const int64_t free = Dominant(gang.free(node), gang.per_worker());
    have[gang.DomainOf(node)] += std::max<int64_t>(0, free) / per_worker;
  }
  std::vector<DomainOffers> offers = CollectOffers(trial, gang.domains());
  for (int domain = 0; domain < gang.domains(); ++domain) {
    double cost = 0;
    const int64_t lacking = gang.need() - have[domain];
    if (per_worker > 0 && lacking > 0) {
      std::vector<double> increments;
      for (auto& [node, on_node] : offers[domain].by_node) {
        AddIncrements(std::move(on_node), Dominant(gang.free(node), gang.per_worker()), per_worker,
                      increments);
      }
      if (static_cast<int64_t>(increments.size()) < lacking) continue;
      std::nth_element(increments.begin(), increments.begin() + (lacking - 1), increments.end());
      for (int64_t i = 0; i < lacking; ++i) cost += increments[i];
    }
    bounds.push_back({domain, std::max(cost, *quota)});
  }
  std::stable_sort(bounds.begin(), bounds.end(),
                   [](const DomainBound& a, const DomainBound& b) { return a.cost < b.cost; });
  return bounds;
}

}  // namespace muster::control
