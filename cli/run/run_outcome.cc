#include "cli/run/run_outcome.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/status_macros.h"
#include "cli/jobs/checkpoint_place.h"
#include "cli/jobs/job_words.h"
#include "cli/jobs/loss_curve.h"
#include "cli/jobs/summary.h"
#include "cli/show/text_table.h"

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
  return condition == nullptr
             ? ""
             : Printable(absl::StrCat(condition->reason(), ": ", condition->message()));
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
int ReportFailure(const JobPaths& paths, const TrainingJob& job) {
  std::fprintf(stderr, "muster: job %s failed: %s\n", job.name.c_str(), MessageOf(job).c_str());
  // Later failures were caused by the first one, or have the same cause.
  if (job.status.failures().has_evidence() && job.status.failures().count() > 1) {
    std::fprintf(stderr, "the first failure: %s\n",
                 PrintableLines(job.status.failures().evidence()).c_str());
  }
  std::fprintf(stderr, "look at: %s\n", paths.Hint("logs").c_str());
  const v1alpha1::Condition* condition = FinalCondition(job);
  return condition != nullptr && condition->reason() == "BadInput" ? kExitBadInput : kExitFailed;
}

struct WholeCheckpoint {
  std::string path;  // empty: the job has no complete checkpoint
  int64_t step = 0;
};

// Returns an error if the place cannot be read.
absl::StatusOr<WholeCheckpoint> NewestWholeCheckpoint(const TrainingJob& job) {
  const CheckpointPlace place = PlaceOf(job);
  MUSTER_ASSIGN_OR_RETURN(const std::shared_ptr<Files> files, OpenPlace(place));
  MUSTER_ASSIGN_OR_RETURN(const auto listed, ListCheckpoints(*files, place.uri));
  if (listed.empty() || !listed.front().complete) return WholeCheckpoint();
  return WholeCheckpoint{JoinPath(place.uri, listed.front().directory), listed.front().step};
}

bool SavesState(const TrainingJob& job) {
  return job.spec.has_trainer() && job.spec.has_checkpoint();
}

// Names the steps trained after `saved`; empty if no later step was trained.
std::string StepsBeyond(int64_t saved, const TrainingJob& job, const History& history) {
  const int64_t trained = std::max(history.last_step(), job.status.progress().step());
  if (trained <= saved) return "";
  if (trained == saved + 1) return absl::StrCat("step ", trained, " is");
  return absl::StrCat("steps ", saved + 1, " to ", trained, " are");
}

}  // namespace

int ReportOutcome(const JobPaths& paths, const TrainingJob& job, const History& history,
                  double wall_seconds, bool interrupted) {
  const std::string& state = job.status.state();
  if (job.spec.has_trainer()) {
    // The job's result counts, even if its curve could not be written.
    const absl::Status status = PrintSummary(job, history, wall_seconds);
    if (!status.ok()) std::fprintf(stderr, "muster: %s\n", std::string(status.message()).c_str());
  } else {
    std::printf("job %s: %s\n", job.name.c_str(), state.c_str());
  }
  if (state == "Succeeded") return kExitOk;
  if (const auto without = StoppedWithout(job); without && state == "Suspended") {
    std::fprintf(stderr, "muster: StepsNotSaved: %s\ntrain them again with: %s\n",
                 Printable(*without).c_str(), paths.Hint("resume").c_str());
    return kExitStepsNotSaved;
  }
  if (state == "Suspended") {
    std::printf("\ngo on with: %s\n", paths.Hint("resume").c_str());
    return interrupted ? kExitSignalBase + SIGINT : kExitStopped;
  }
  return ReportFailure(paths, job);
}

int ReportEndedBefore(const JobPaths& paths) {
  std::printf(
      "job %s had already ended: Succeeded. Nothing was run now.\n"
      "to run it anew, add --fresh; to see its result: %s\n",
      paths.job.c_str(), paths.Hint("describe").c_str());
  return kExitOk;
}

int ReportNeverFits(const TrainingJob& job, const std::string& why) {
  std::fprintf(stderr,
               "muster: job %s can never run on this machine: %s\n"
               "muster: nothing was started; change what it asks for, or run it on a cluster\n",
               job.name.c_str(), Printable(why).c_str());
  return kExitDoesNotFit;
}

int ReportStoppedAtOnce(const JobPaths& paths, const TrainingJob& job, const History& history) {
  std::string kept, lost;
  if (SavesState(job)) {
    if (const auto newest = NewestWholeCheckpoint(job); newest.ok()) {
      kept = newest->path.empty() ? "; no checkpoint is whole, so training would begin anew"
                                  : absl::StrCat("; the newest whole checkpoint is ", newest->path);
      lost = StepsBeyond(newest->step, job, history);
    }
  }
  std::fprintf(stderr, "muster: stopped at once%s\n", kept.c_str());
  if (!lost.empty()) std::fprintf(stderr, "muster: %s not saved\n", lost.c_str());
  std::fprintf(stderr, "go on with: %s\n", paths.Hint("resume").c_str());
  return StopThatWaits(job) ? kExitStepsNotSaved : kExitSignalBase + SIGINT;
}

void ReportTrainedAgain(const TrainingJob& job, const History& history) {
  if (!SavesState(job) || !job.spec.suspend()) return;
  const auto newest = NewestWholeCheckpoint(job);
  if (!newest.ok()) return;
  const std::string steps = StepsBeyond(newest->step, job, history);
  if (steps.empty()) return;
  std::fprintf(stderr, "muster: job %s %s: %s not saved and trained again\n", job.name.c_str(),
               newest->path.empty() ? "begins anew"
                                    : absl::StrCat("goes on from step ", newest->step).c_str(),
               steps.c_str());
}

}  // namespace muster::cli
