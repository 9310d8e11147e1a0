#ifndef MUSTER_OPERATOR_QUEUE_BOOK_QUEUED_JOB_H_
#define MUSTER_OPERATOR_QUEUE_BOOK_QUEUED_JOB_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/placement.h"
#include "operator/queue/book/queue_spec.h"

namespace muster::control {

// A job as the queue sees it, waiting or running: plain values, filled in by the shell.
struct QueuedJob {
  std::string uid;
  std::string ns;
  std::string name;
  std::string queue;
  int64_t priority = 0;  // of its PriorityClass
  bool preempts = true;  // false: its own queue's jobs make no room for it, except by extra workers
  absl::Time created = absl::UnixEpoch();
  // The time it had run before it came to wait, or before this start.
  absl::Duration ran;
  // The gang to place. min..max are the workers it starts with and grows back to when it was
  // shrunk; a job with min < max is elastic.
  GangRequest request;
  // The sizes beyond request.max that it may have while no other job waits for the capacity,
  // ascending: those that it wants, and those that it would shrink to. It yields them to any other.
  std::vector<int> larger_sizes;
  // The amounts that each worker counts for in the quotas.
  Amounts quota_per_worker;
  // The longest that it runs once it has started; absent: endless.
  std::optional<absl::Duration> runtime;

  // Worker i of a running job is on nodes[i]. Empty: the job waits.
  std::vector<std::string> nodes;
  absl::Time started = absl::UnixEpoch();
  // The end by its ETA or deadline; absent: endless. See ExpectedEnd for one that is past.
  std::optional<absl::Time> ends;
  // The time of the last durable checkpoint, or `started` if that is later.
  absl::Time checkpointed = absl::UnixEpoch();
  // The number of workers, counted from the last one, that were told to go and still hold their
  // nodes; all of them if the job is being stopped.
  int leaving = 0;
  // UID of the job that they make room for; empty: none, or not known.
  std::string leaves_for;
  // True if the job waits and its smallest size has no place on the nodes that exist, existed
  // lately or may come, each of them as if it were empty.
  bool fits_nowhere = false;

  bool running() const { return !nodes.empty(); }
  int workers() const { return static_cast<int>(nodes.size()); }
  // The workers beyond request.max, which it yields.
  int extra_workers() const { return running() ? std::max(0, workers() - request.max) : 0; }
  bool stopping() const { return running() && leaving >= workers(); }
};

// The time that it has run by now.
inline absl::Duration RanBy(const QueuedJob& job, absl::Time now) {
  if (!job.running()) return job.ran;
  return job.ran + std::max(absl::ZeroDuration(), now - job.started);
}

// Returns when a running job ends, as far as is known: a late job is expected to take as long again
// as it is late. InfiniteFuture: it states no end.
inline absl::Time ExpectedEnd(const QueuedJob& job, absl::Time now) {
  if (!job.ends) return absl::InfiniteFuture();
  if (*job.ends > now) return *job.ends;
  return now + std::max(now - *job.ends, absl::Seconds(1));
}

// The number of workers of a running job, the first ones, that still hold their nodes after
// `grace`: those that were not told to go, and none if the job ends before.
inline int StayingAfter(const QueuedJob& job, absl::Time now, absl::Duration grace) {
  if (ExpectedEnd(job, now) <= now + grace) return 0;
  return std::max(0, job.workers() - job.leaving);
}

// The units by which idle and repeated work is priced: GPUs, or workers without GPUs.
inline int64_t BillableUnits(const QueuedJob& job, int64_t workers) {
  return workers * (job.request.per_worker.gpus > 0 ? job.request.per_worker.gpus : 1);
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_BOOK_QUEUED_JOB_H_
