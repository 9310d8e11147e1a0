#ifndef MUSTER_OPERATOR_QUEUE_BOOK_ORDER_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_ORDER_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::control {

// The key that decides which job comes first; nothing else is compared.
struct OrderKey {
  // The queue's part.
  bool claims = false;   // others already make room for its head
  bool borrows = false;  // its head would take it beyond its nominal quota
  double share = 0;      // decayed, weighted, dominant
  absl::string_view queue;
  // The job's part.
  double rank = 0;  // AgedRank
  absl::Time created = absl::UnixEpoch();
  absl::string_view uid;
};

// The priority, plus one for each `aging` that the job has waited, less what all jobs have in
// common: the order of two jobs never changes while they wait. The job counts as if it had come at
// `since` and never run. Larger is earlier.
double AgedRank(int64_t priority, absl::Time since, absl::Duration aging);

// Returns true if `a` comes before `b`. The first rule that tells them apart decides:
// (0) queues for whose head others already make room;
// (1) queues within nominal quota before borrowers;
// (2) the queue with the lowest decayed weighted dominant share, then by name;
// (3) within a queue the highest priority plus aging bonus;
// (4) the earliest creation time; (5) the UID.
// A strict total order if all jobs of a queue have the same queue's part.
bool ComesBefore(const OrderKey& a, const OrderKey& b);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_ORDER_H_
