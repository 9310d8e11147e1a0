#ifndef MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_SPEC_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

// A queue as an administrator defines it: plain values, no behaviour.
namespace muster::control {

// Amounts by resource. A resource is what Kubernetes calls it ("nvidia.com/gpu", "cpu" in
// millicores, "memory" in bytes), or one kind of it after a slash ("nvidia.com/gpu/H100"). A job
// counts against each resource that it requests, and each kind that it may get or has.
using Amounts = std::map<std::string, int64_t>;

// A queue's quota of one resource. Every amount is >= 0.
struct Quota {
  std::string resource;
  int64_t nominal = 0;
  // The most that the queue takes from its cohort beyond `nominal`; absent: no limit.
  std::optional<int64_t> borrow_limit;
  // The most of `nominal` that the queue leaves to its cohort while it needs less; absent: all.
  std::optional<int64_t> lend_limit;
};

// The most that the jobs of one namespace may take of the queue, together. "*" is each namespace
// that has no limit of its own.
struct NamespaceLimit {
  std::string ns;
  Amounts limits;
};

enum class PreemptWithinQueue {
  kLowerPriority,
  kNever,
};

// The jobs from which a queue takes back its nominal quota. They are always in queues that borrow.
enum class ReclaimFrom {
  kAny,
  kLowerPriority,
  kNever,
};

// A queue, or a cohort: a queue that others name as their parent. Jobs wait in queues without
// children. A parent without a QueueSpec is a cohort without a quota of its own.
struct QueueSpec {
  std::string name;
  std::string parent;  // empty: none
  double weight = 1;   // > 0
  // A resource that neither the queue nor any of its parents lists is not limited.
  std::vector<Quota> quotas;
  std::vector<NamespaceLimit> namespace_limits;
  // The namespaces whose jobs may start here; "*" is every one. Empty: every one.
  std::vector<std::string> namespaces;
  PreemptWithinQueue preempt_within_queue = PreemptWithinQueue::kLowerPriority;
  ReclaimFrom reclaim = ReclaimFrom::kAny;
  // A job of this queue neither stops nor shrinks for another within this time of its newest start.
  absl::Duration min_runtime;
  // Once a job of this queue has waited that long, elastic jobs of the queue whose priority is not
  // higher shrink for it, down to their smallest size. Absent: only those of a lower priority do.
  std::optional<absl::Duration> shrink_after;
  bool stopped = false;  // no further job starts
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUEUE_SPEC_H_
