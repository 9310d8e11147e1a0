#include "cli/run_outcome.h"

#include <csignal>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/exit_codes.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "cli/checkpoint_place.h"
#include "cli/loss_curve.h"
#include "cli/summary.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

// Returns the condition that the job's state is named after.
const v1alpha1::Condition* FinalCondition(const TrainingJob& job) {
  for (const auto& condition : job.status.conditions()) {
    if (condition.type() == job.status.state() && condition.status() == "True") return &condition;
  }
  return nullptr;
}

std::string MessageOf(const TrainingJob& job) {
  const v1alpha1::Condition* condition = FinalCondition(job);
  return condition == nullptr ? "" : absl::StrCat(condition->reason(), ": ", condition->message());
}

// Writes the curve beside the checkpoint, and prints it and the table.
absl::Status PrintSummary(const TrainingJob& job, const History& history, double wall_seconds) {
  RunFacts facts;
  facts.job = job.name;
  facts.state = job.status.state();
  facts.steps = job.spec.trainer().train().steps();
  facts.wall_seconds = wall_seconds;
  facts.ledger = job.status.ledger();
  facts.rounds = static_cast<int>(job.status.round());
  if (job.status.checkpoint().has_step()) {
    facts.checkpoint = job.status.checkpoint().uri();
  }
  if (!history.steps().empty() && job.spec.has_checkpoint()) {
    const std::string& directory = job.spec.checkpoint().uri();
    MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<Files> files, OpenPlace(PlaceOf(job)));
    MUSTER_RETURN_IF_ERROR(files->MakeDirectories(directory));
    facts.curve = JoinPath(directory, "loss.svg");
    const auto entropy = history.unigram_entropy();
    MUSTER_RETURN_IF_ERROR(WriteFileAtomically(
        *files, facts.curve, LossCurveSvg(history.Curve(), job.name, entropy, "unigram entropy")));
  }
  std::printf("\n%s\n%s", LossCurveBraille(history.Curve(), 70, 10).c_str(),
              SummaryTable(facts, history).c_str());
  return absl::OkStatus();
}

// Prints the reason of the failure, and returns its exit code.
int ReportFailure(const TrainingJob& job) {
  std::fprintf(stderr, "muster: job %s failed: %s\n", job.name.c_str(), MessageOf(job).c_str());
  // Later failures were caused by the first one, or have the same cause.
  if (job.status.failures().has_evidence() && job.status.failures().count() > 1) {
    std::fprintf(stderr, "the first failure: %s\n", job.status.failures().evidence().c_str());
  }
  std::fprintf(stderr, "look at: muster logs %s\n", job.name.c_str());
  const v1alpha1::Condition* condition = FinalCondition(job);
  return condition != nullptr && condition->reason() == "BadInput" ? kExitBadInput : kExitFailed;
}

// Returns an empty string if there is none, or the place cannot be read.
std::string NewestWholeCheckpoint(const TrainingJob& job) {
  const CheckpointPlace place = PlaceOf(job);
  const auto files = OpenPlace(place);
  if (!files.ok()) return "";
  const auto listed = ListCheckpoints(**files, place.uri);
  const bool any = listed.ok() && !listed->empty() && listed->front().complete;
  return any ? JoinPath(place.uri, listed->front().directory) : "";
}

}  // namespace

int ReportOutcome(const TrainingJob& job, const History& history, double wall_seconds,
                  bool interrupted) {
  const std::string& state = job.status.state();
  if (job.spec.has_trainer()) {
    // The job's result counts, even if its curve could not be written.
    const absl::Status status = PrintSummary(job, history, wall_seconds);
    if (!status.ok()) std::fprintf(stderr, "muster: %s\n", std::string(status.message()).c_str());
  } else {
    std::printf("job %s: %s\n", job.name.c_str(), state.c_str());
  }
  if (state == "Succeeded") return kExitOk;
  if (state == "Suspended") {
    std::printf("\ngo on with: muster resume %s\n", job.name.c_str());
    return interrupted ? kExitSignalBase + SIGINT : kExitStopped;
  }
  return ReportFailure(job);
}

int ReportEndedBefore(const TrainingJob& job) {
  std::printf(
      "job %s had already ended: Succeeded. Nothing was run now.\n"
      "to run it anew: muster run --fresh; to see its result: muster describe %s\n",
      job.name.c_str(), job.name.c_str());
  return kExitOk;
}

int ReportNeverFits(const TrainingJob& job, const std::string& why) {
  std::fprintf(stderr,
               "muster: job %s can never run on this machine: %s\n"
               "muster: nothing was started; change what it asks for, or run it on a cluster\n",
               job.name.c_str(), why.c_str());
  return kExitDoesNotFit;
}

int ReportStoppedAtOnce(const TrainingJob& job) {
  std::string kept;
  if (job.spec.has_trainer() && job.spec.has_checkpoint()) {
    const std::string newest = NewestWholeCheckpoint(job);
    kept = newest.empty() ? "; no checkpoint is whole, so training would begin anew"
                          : absl::StrCat("; the newest whole checkpoint is ", newest);
  }
  std::fprintf(stderr, "muster: stopped at once%s\ngo on with: muster resume %s\n", kept.c_str(),
               job.name.c_str());
  return kExitSignalBase + SIGINT;
}

}  // namespace muster::cli
