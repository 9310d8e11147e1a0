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

void AddLeavers(const QueueBook::State& state, GangQuestion& question) {
  for (const QueueEntry& queue : state.queues) {
    for (const JobEntry* entry : queue.running) {
      const QueuedJob& job = entry->job;
      if (job.leaving == 0) continue;
      question.leavers.push_back({job.uid, std::max(0, job.workers() - job.leaving)});
    }
  }
}

}  // namespace muster::control
