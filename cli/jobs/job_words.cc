#include "cli/jobs/job_words.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "operator/api/defaults.h"
#include "operator/core/failure/failure_text.h"

namespace muster::cli {
namespace {

using control::TrainingJob;
using v1alpha1::Condition;
using v1alpha1::FailureRecord;

// Reasons of operator/placement that no change of other pods removes, and that of operator/queue
// for a missing queue, because queues cannot be created on one machine.
constexpr const char* kPermanentReasons[] = {"InvalidRequest", "NoNodeBigEnough", "Insufficient",
                                             "Topology",       "SpotLimit",       "Constraints",
                                             "NoSuchQueue"};

// Returns null unless the condition is present and False.
const Condition* FindFalse(const TrainingJob& job, const char* type) {
  for (const Condition& condition : job.status.conditions()) {
    if (condition.type() == type && condition.status() == "False") return &condition;
  }
  return nullptr;
}

// Returns null unless the job's pods cannot be placed, or it waits for its turn.
const Condition* FindWait(const TrainingJob& job) {
  const Condition* scheduled = FindFalse(job, "Scheduled");
  if (scheduled == nullptr) return nullptr;
  return scheduled->reason() == "Unschedulable" || scheduled->reason() == "Queued" ? scheduled
                                                                                   : nullptr;
}

std::string HowItEnded(const FailureRecord& failure) {
  const std::string who = failure.has_rank() ? absl::StrCat("rank ", failure.rank())
                                             : absl::StrCat("worker ", failure.worker());
  if (!failure.has_exit_code()) return absl::StrCat(who, " failed: ", failure.reason());
  if (failure.reason() == "Signaled") {
    return absl::StrCat(who, " was killed by signal ", failure.signal());
  }
  return absl::StrCat(who, " ", control::HowItEnded(failure.exit_code(), failure.reason()));
}

bool IsBrokenByRank(const Condition& running) {
  return running.reason() == "RankFailed" || running.reason() == "WorkerLost";
}

// Describes the newest failure if that is what broke the newest round.
std::string WhatFailed(const TrainingJob& job, const Condition& running) {
  const auto& failures = job.status.failures();
  if (!IsBrokenByRank(running) || !failures.has_latest() ||
      failures.latest().round() + 1 < job.status.round()) {
    return running.message();
  }
  v1alpha1::TrainingJobSpec spec = job.spec;
  control::Default(spec);
  return absl::StrCat(HowItEnded(failures.latest()), "; try ", failures.times_size() + 1, " of ",
                      spec.failure_policy().max_failures() + 1);
}

// Returns the type of the condition that explains the state.
std::string TypeFor(const std::string& state) {
  if (state == "Recovering") return "Running";
  if (state == "Queued" || state == "Pending" || state == "Starting") return "Scheduled";
  return state;
}

std::string ReasonOf(const TrainingJob& job) {
  const std::string type = TypeFor(job.status.state());
  for (const Condition& condition : job.status.conditions()) {
    if (condition.type() == type) return condition.reason();
  }
  return "";
}

std::string SentenceOf(const TrainingJob& job) {
  const std::string& state = job.status.state();
  if (state == "Training" || state == "Succeeded" || state == "Failed") return "";
  if (const Condition* wait = FindWait(job)) return wait->message();
  const Condition* running = FindFalse(job, "Running");
  if (running == nullptr) return "";
  // A job whose rounds break before they are Active is still Starting.
  const bool broken = state == "Recovering" || (state == "Starting" && IsBrokenByRank(*running));
  return broken ? WhatFailed(job, *running) : "";
}

}  // namespace

NotTraining WhyNotTraining(const TrainingJob& job) { return {ReasonOf(job), SentenceOf(job)}; }

std::optional<std::string> WhyItNeverFits(const TrainingJob& job) {
  const Condition* wait = FindWait(job);
  // A verdict for an older generation concerns an older request.
  if (wait == nullptr || wait->observed_generation() < job.generation) return std::nullopt;
  const std::string& reason = job.status.placement().reason();
  const bool permanent = std::any_of(std::begin(kPermanentReasons), std::end(kPermanentReasons),
                                     [&reason](const char* one) { return reason == one; });
  return permanent ? std::optional<std::string>(wait->message()) : std::nullopt;
}

std::optional<std::string> StopThatWaits(const TrainingJob& job) {
  const Condition* suspended = FindFalse(job, "Suspended");
  if (suspended == nullptr || suspended->reason() != "StepsNotSaved") return std::nullopt;
  return suspended->message();
}

std::optional<std::string> StoppedWithout(const TrainingJob& job) {
  for (const Condition& condition : job.status.conditions()) {
    const bool stopped = condition.type() == "Suspended" && condition.status() == "True";
    if (stopped && condition.reason() == "StepsNotSaved") return condition.message();
  }
  return std::nullopt;
}

}  // namespace muster::cli
