#include "operator/queue/gang_question.h"

#include <algorithm>
#include <utility>

namespace muster::control {

GangQuestion QuestionAbout(absl::Time now, const QueueBook::State& state, const JobEntry& job,
                           GangRequest request) {
  GangQuestion question{job.job.uid, std::move(request), {}, {}};
  for (const QueueEntry& queue : state.queues) {
    for (const JobEntry* entry : queue.running) {
      if (entry->job.started == now)
        question.starters.push_back({entry->job.uid, entry->job.nodes});
    }
  }
  return question;
}

void AddLeavers(absl::Time now, const QueueBook::State& state, absl::Duration grace,
                GangQuestion& question) {
  for (const QueueEntry& queue : state.queues) {
    for (const JobEntry* entry : queue.running) {
      const QueuedJob& job = entry->job;
      const int staying = StayingAfter(job, now, grace);
      if (staying < job.workers()) question.leavers.push_back({job.uid, staying});
    }
  }
}

}  // namespace muster::control
