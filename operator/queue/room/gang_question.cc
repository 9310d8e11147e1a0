#include "operator/queue/room/gang_question.h"

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
  for (const Leaver& leaver : state.LeaversAfter(now, grace)) {
    question.leavers.push_back({leaver.entry->job.uid, leaver.from});
  }
}

}  // namespace muster::control
