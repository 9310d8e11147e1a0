#include "operator/queue/book/order.h"

namespace muster::control {

double AgedRank(int64_t priority, absl::Time since, absl::Duration aging) {
  if (aging == absl::InfiniteDuration()) return static_cast<double>(priority);
  // The part of the bonus that grows with the clock is the same for all jobs.
  const double bonus = absl::FDivDuration(since - absl::UnixEpoch(), aging);
  return static_cast<double>(priority) - bonus;
}

bool ComesBefore(const OrderKey& a, const OrderKey& b) {
  if (a.claims != b.claims) return a.claims;
  if (a.borrows != b.borrows) return b.borrows;
  if (a.share != b.share) return a.share < b.share;
  if (a.queue != b.queue) return a.queue < b.queue;
  if (a.rank != b.rank) return a.rank > b.rank;
  if (a.created != b.created) return a.created < b.created;
  return a.uid < b.uid;
}

}  // namespace muster::control
