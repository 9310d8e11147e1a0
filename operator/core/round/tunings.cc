#include "operator/core/round/tunings.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "operator/core/state/conditions.h"
#include "operator/core/state/plan.h"
#include "operator/core/state/tuned_steps.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

using v1alpha1::Tuning;

// Returns the first step of the change in the given place. Without a report of it, the latest that
// it can be: ranks put at most one change a step into force, so that a later one tells.
int64_t FirstStep(const std::vector<Tuning>& seen, size_t place) {
  size_t reported = place;
  while (seen[reported].step() == 0 && reported + 1 < seen.size()) ++reported;
  const int64_t between = static_cast<int64_t>(reported - place);
  return std::max<int64_t>(1, seen[reported].step() - between);
}

v1alpha1::TuningStatus InForce(const Draft& draft, size_t place) {
  const std::vector<Tuning>& seen = draft.view.progress.tunings;
  const v1alpha1::TuningSpec& asked = draft.spec().trainer().tunings(static_cast<int>(place));
  const bool reported = seen[place].step() > 0;
  v1alpha1::TuningStatus tuning;
  tuning.set_step(FirstStep(seen, place));
  if (reported ? seen[place].has_learning_rate() : asked.has_learning_rate()) {
    tuning.set_learning_rate(reported ? seen[place].learning_rate() : asked.learning_rate());
  }
  if (reported ? seen[place].has_clip_norm() : asked.has_clip_norm()) {
    tuning.set_clip_norm(reported ? seen[place].clip_norm() : asked.clip_norm());
  }
  if (asked.has_by()) tuning.set_by(asked.by());
  tuning.set_time(FormatWall(draft.view.wall));
  return tuning;
}

uint64_t DigestOf(const std::vector<Tuning>& tunings) {
  std::string text;
  for (const Tuning& tuning : tunings) absl::StrAppend(&text, tuning.SerializeAsString(), "|");
  return Hash64(text);
}

// Returns true if the member has this list by its round's spec, or was told it on its stream.
bool Has(const RoundMemory& memory, const Worker& worker, uint64_t list) {
  const auto last = memory.tuned.find(worker.index);
  if (last != memory.tuned.end() && last->second.round == memory.id) {
    return last->second == TuneMemory{memory.id, worker.agent->session, list};
  }
  return memory.spec != nullptr && DigestOf(TuningsOf(*memory.spec, {})) == list;
}

}  // namespace

void RecordTunings(Draft& draft) {
  const std::vector<Tuning>& seen = draft.view.progress.tunings;
  const auto asked = static_cast<size_t>(draft.spec().trainer().tunings_size());
  const size_t in_force = std::min(seen.size(), asked);
  const auto known = static_cast<size_t>(draft.status().tunings_size());
  for (size_t place = known; place < in_force; ++place) {
    const v1alpha1::TuningStatus tuning = InForce(draft, place);
    *draft.status().add_tunings() = tuning;
    draft.EmitNormal(Reason::kTuned, DescribeTuning(tuning));
  }
}

void TellTunings(Draft& draft) {
  RoundMemory& memory = draft.memory();
  if (memory.phase != RoundPhase::kActive || memory.stop.since) return;
  auto tunings =
      std::make_shared<const std::vector<Tuning>>(TuningsOf(draft.spec(), draft.status()));
  if (tunings->empty() && memory.tuned.empty()) return;
  const uint64_t list = DigestOf(*tunings);
  int told = 0;
  for (const v1alpha1::Member& member : memory.members) {
    const Worker* worker = WorkerOf(draft, member);
    if (worker == nullptr || worker->agent == nullptr || !worker->agent->attached) continue;
    if (Has(memory, *worker, list)) continue;
    memory.tuned[worker->index] = {memory.id, worker->agent->session, list};
    draft.Send(*worker, TuneOrder{memory.id, tunings});
    ++told;
  }
  if (told == 0) return;
  draft.SetReason(Reason::kTuned, absl::StrCat(told, " workers of round ", memory.id.round,
                                               " are told of ", tunings->size(), " tunings"));
}

}  // namespace muster::control
