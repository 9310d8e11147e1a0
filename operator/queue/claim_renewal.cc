#include "operator/queue/claim_renewal.h"

#include <algorithm>
#include <vector>

#include "operator/queue/book/decision.h"
#include "operator/queue/book/queue_state.h"
#include "operator/queue/room/claims.h"
#include "operator/queue/room/room_plan.h"

namespace muster::control {
namespace {

// The most orders in which claimants are given their places again.
constexpr int kMostOrdersOfClaims = 8;

// The waiting jobs that may claim, by the time of their first claim.
std::vector<JobEntry*> ClaimantsOf(const QueueBook::State& state, const PlaceSearch& places) {
  std::vector<JobEntry*> claimants;
  for (const QueueEntry& queue : state.queues) {
    for (JobEntry* entry : queue.waiting) {
      Decision unused;
      const bool may = entry->claimed_since.has_value() && !entry->job.fits_nowhere;
      if (may && places.MayEverStart(*entry, unused)) claimants.push_back(entry);
    }
  }
  std::sort(claimants.begin(), claimants.end(), [](const JobEntry* a, const JobEntry* b) {
    if (a->claimed_since != b->claimed_since) return *a->claimed_since < *b->claimed_since;
    return WaitsBefore()(a, b);
  });
  return claimants;
}

void ClaimSmallestSizes(std::vector<JobEntry*>& claimants, Claims& claims) {
  // Other jobs may now lie elsewhere: a claimant that finds no place is moved to the front.
  for (int tries = 0; tries < kMostOrdersOfClaims; ++tries) {
    const auto lost = std::find_if(claimants.begin(), claimants.end(), [&](JobEntry* entry) {
      return claims.Find(*entry) == nullptr && !claims.Add(*entry, entry->job.request.min);
    });
    if (lost == claimants.end() || lost == claimants.begin()) break;
    std::rotate(claimants.begin(), lost, lost + 1);
    for (JobEntry* entry : claimants) claims.Withdraw(*entry);
  }
  for (JobEntry* entry : claimants) {
    if (claims.Find(*entry) == nullptr) claims.Add(*entry, entry->job.request.min);
  }
}

}  // namespace

void RenewClaims(CycleContext& cycle, const PlaceSearch& places) {
  if (!cycle.state.may_have_claims) return;
  Claims& claims = cycle.claims;
  std::vector<JobEntry*> claimants = ClaimantsOf(cycle.state, places);
  cycle.state.may_have_claims = !claimants.empty();
  ClaimSmallestSizes(claimants, claims);
  // No claimant's larger size costs another its smallest, so claims grow only now.
  for (JobEntry* entry : claimants) {
    const Claim* claim = claims.Find(*entry);
    if (claim == nullptr || claim->workers == entry->job.request.max) continue;
    claims.Withdraw(*entry);
    claims.Add(*entry,
               std::max(NominalWorkers(cycle.state, *entry, &claims), entry->job.request.min));
  }
}

}  // namespace muster::control
