#include "operator/core/failure.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "operator/core/finish.h"
#include "operator/core/spec_values.h"

namespace muster::control {
namespace {

constexpr size_t kMaxEvidence = 8 << 10;
constexpr int kMaxTimes = 64;

struct Failure {
  int exit_code = 0;
  std::string sentence;
  std::string evidence;
};

std::optional<Failure> FromExit(const AgentView& agent, const ExitReport& exit) {
  if (exit.exit_code == kExitRefused) return std::nullopt;
  Failure failure{exit.exit_code,
                  absl::StrCat("rank ", exit.rank, " of worker ", agent.index,
                               " ended with exit code ", exit.exit_code, " (", exit.reason, ")"),
                  exit.log_tail};
  return failure;
}

// The first failure of a round newer than the last one counted, in ranks' order.
std::optional<Failure> FindInRound(Draft& draft) {
  int64_t& counted = draft.memory().failed_round;
  const bool built_in = draft.spec().has_trainer();
  std::optional<Failure> found;
  int64_t found_round = counted;
  for (const AgentView& agent : draft.view.agents) {
    for (const ExitReport& exit : agent.exits) {
      if (exit.round.round <= counted || found) continue;
      if (!built_in && exit.exit_code == 0 && exit.signal == 0) continue;
      found = FromExit(agent, exit);
      if (found) found_round = exit.round.round;
    }
    if (!agent.finished || agent.finished->succeeded || found) continue;
    if (agent.finished->round.round <= counted || agent.finished->exit_code == kExitRefused)
      continue;
    if (draft.memory().stopping_since) continue;
    found_round = agent.finished->round.round;
    found = Failure{agent.finished->exit_code,
                    absl::StrCat("worker ", agent.index, " ended with exit code ",
                                 agent.finished->exit_code, ": ", agent.finished->message),
                    ""};
  }
  counted = found_round;
  return found;
}

bool IsCountedPod(const PodView& pod) {
  if (pod.phase != PodPhase::kFailed || pod.deleting) return false;
  if (pod.reason == "OOMKilled") return true;
  const int code = pod.exit_code.value_or(kExitSignalBase);
  return code != kExitOk && code != kExitRefused && code != kExitOrphaned && code < kExitSignalBase;
}

std::optional<Failure> FindInPods(Draft& draft) {
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr || !IsCountedPod(*worker.pod)) continue;
    WorkerMemory& memory = draft.memory().workers[worker.index];
    if (memory.counted_pod == worker.pod->uid) continue;
    memory.counted_pod = worker.pod->uid;
    // Its ranks' failure, or a stop, already told why.
    if (worker.agent != nullptr && (worker.agent->finished || !worker.agent->exits.empty()))
      continue;
    return Failure{worker.pod->exit_code.value_or(0),
                   absl::StrCat("pod ", worker.pod->name, " ended with exit code ",
                                worker.pod->exit_code.value_or(0), " ", worker.pod->reason),
                   worker.pod->message};
  }
  return std::nullopt;
}

void Record(Draft& draft, const Failure& failure) {
  v1alpha1::FailureStatus& status = *draft.status().mutable_failures();
  status.set_count(status.count() + 1);
  if (!status.has_evidence()) {
    std::string text = failure.sentence;
    if (!failure.evidence.empty()) absl::StrAppend(&text, "\n", failure.evidence);
    // The end of a log says more than its beginning.
    if (text.size() > kMaxEvidence) text.erase(0, text.size() - kMaxEvidence);
    status.set_evidence(text);
  }
  const absl::Time oldest = draft.view.wall - FailureWindow(draft.spec());
  std::vector<std::string> times(status.times().begin(), status.times().end());
  times.push_back(FormatWall(draft.view.wall));
  times.erase(std::remove_if(times.begin(), times.end(),
                             [&](const std::string& time) { return ParseWall(time) < oldest; }),
              times.end());
  if (times.size() > kMaxTimes) times.erase(times.begin(), times.end() - kMaxTimes);
  status.mutable_times()->Assign(times.begin(), times.end());
}

void Judge(Draft& draft, const Failure& failure) {
  Record(draft, failure);
  const int recent = draft.status().failures().times_size();
  const int most = std::min(MaxFailures(draft.spec()), kMaxTimes - 1);
  if (failure.exit_code == kExitBadInput && draft.spec().has_trainer()) {
    Fail(draft, Reason::kBadInput, absl::StrCat(failure.sentence, "; trying again cannot help"));
  } else if (recent > most) {
    Fail(
        draft, Reason::kTooManyFailures,
        absl::StrCat(recent, " failures within ", absl::FormatDuration(FailureWindow(draft.spec())),
                     ", ", most, " are allowed; the last: ", failure.sentence));
  }
}

}  // namespace

void CountFailures(Draft& draft) {
  if (const auto failure = FindInRound(draft)) Judge(draft, *failure);
  if (draft.done) return;
  if (const auto failure = FindInPods(draft)) Judge(draft, *failure);
}

absl::Duration Backoff(int streak, const DecideOptions& options) {
  if (streak <= 0) return absl::ZeroDuration();
  const int doublings = std::min(streak - 1, 30);
  return std::min(options.backoff_cap, options.backoff_base * (int64_t{1} << doublings));
}

}  // namespace muster::control
