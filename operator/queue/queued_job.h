#ifndef MUSTER_OPERATOR_QUEUE_QUEUED_JOB_H_
#define MUSTER_OPERATOR_QUEUE_QUEUED_JOB_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/placement/placement.h"
#include "operator/queue/queue_spec.h"

namespace muster::control {

// A job as the queue sees it, waiting or running: plain values, filled in by the shell.
struct QueuedJob {
  std::string uid;
  std::string ns;
  std::string name;
  std::string queue;
  int64_t priority = 0;  // of its PriorityClass
  bool preempts = true;  // false: it stops nobody for its priority
  absl::Time created = absl::UnixEpoch();
  // How long it had run before it came to wait, or before this start.
  absl::Duration ran;
  // What is placed. min..max are the workers it starts with and grows back to when it was shrunk;
  // a job with min < max is elastic.
  GangRequest request;
  // What each worker counts for in the quotas.
  Amounts quota_per_worker;
  // How long it runs once it has started, at most; absent: endless.
  std::optional<absl::Duration> runtime;

  // Of a running job: worker i is on nodes[i]. Empty: it waits.
  std::vector<std::string> nodes;
  absl::Time started = absl::UnixEpoch();
  // By its ETA or deadline; absent: endless. One that is past is moved by as long as it is late.
  std::optional<absl::Time> ends;
  // The last durable checkpoint; `started` when there is none.
  absl::Time checkpointed = absl::UnixEpoch();
  // The last workers that have been told to go and still hold their nodes: all of them when the job
  // is being stopped.
  int leaving = 0;
  // UID of the job that they make room for; empty: nobody's, or not known.
  std::string leaves_for;
  // Of a waiting job: its smallest size has no place on the nodes that there are, that were there
  // lately or that may come, each of them as if it were empty.
  bool fits_nowhere = false;

  bool running() const { return !nodes.empty(); }
  int workers() const { return static_cast<int>(nodes.size()); }
  bool stopping() const { return running() && leaving >= workers(); }
};

// How long it has run by now.
inline absl::Duration RanBy(const QueuedJob& job, absl::Time now) {
  if (!job.running()) return job.ran;
  return job.ran + std::max(absl::ZeroDuration(), now - job.started);
}

// When a running job ends, as far as is known: what is late is expected to take as long again as it
// is late. InfiniteFuture: it says no end.
inline absl::Time ExpectedEnd(const QueuedJob& job, absl::Time now) {
  if (!job.ends) return absl::InfiniteFuture();
  if (*job.ends > now) return *job.ends;
  return now + std::max(now - *job.ends, absl::Seconds(1));
}

// The first workers of a running job that still hold their nodes after `grace`: those that were not
// told to go, unless the job ends before.
inline int StayingAfter(const QueuedJob& job, absl::Time now, absl::Duration grace) {
  if (ExpectedEnd(job, now) <= now + grace) return 0;
  return std::max(0, job.workers() - job.leaving);
}

// What a job costs while it does nothing, or does again what it did: GPUs, or workers without GPUs.
inline int64_t BillableUnits(const QueuedJob& job, int64_t workers) {
  return workers * (job.request.per_worker.gpus > 0 ? job.request.per_worker.gpus : 1);
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_QUEUE_QUEUED_JOB_H_
