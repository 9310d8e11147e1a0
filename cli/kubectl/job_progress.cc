#include "cli/kubectl/job_progress.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "cli/jobs/job_words.h"
#include "cli/show/text_table.h"
#include "operator/core/state/conditions.h"

namespace muster::cli::kubectl {
namespace {

using control::ConditionType;
using control::TrainingJob;

std::string MessageOf(const TrainingJob& job, ConditionType type) {
  const auto* condition = control::FindCondition(job.status, type);
  return condition == nullptr ? "" : Printable(condition->message());
}

}  // namespace

ProgressView ProgressOf(const TrainingJob& job) {
  const auto& status = job.status;
  const auto& progress = status.progress();
  ProgressView view;
  view.state = status.state().empty() ? "Pending" : status.state();
  const NotTraining words = WhyNotTraining(job);
  view.reason = words.reason;
  view.why = words.sentence;
  view.step = progress.step();
  view.steps = progress.has_steps() ? progress.steps() : job.spec.trainer().train().steps();
  if (progress.has_loss()) view.loss = progress.loss();
  if (progress.has_validation_loss()) view.validation_loss = progress.validation_loss();
  absl::Duration left;
  if (view.state == "Training") {
    view.tokens_per_second = progress.tokens_per_second();
    if (absl::ParseDuration(progress.eta(), &left) && left > absl::ZeroDuration()) {
      view.steps_per_second =
          static_cast<double>(view.steps - view.step) / absl::ToDoubleSeconds(left);
    }
  }
  view.ready = status.workers().ready();
  view.desired = status.workers().desired();
  view.round = status.round();
  return view;
}

std::optional<JobEnd> EndOf(const TrainingJob& job) {
  if (control::IsTrue(job.status, ConditionType::kSucceeded)) {
    return JobEnd{kExitOk, absl::StrCat("job ", job.name, " has succeeded: ",
                                        MessageOf(job, ConditionType::kSucceeded))};
  }
  if (control::IsTrue(job.status, ConditionType::kFailed)) {
    return JobEnd{
        kExitFailed,
        absl::StrCat("job ", job.name, " has failed: ", MessageOf(job, ConditionType::kFailed))};
  }
  if (job.spec.suspend() && job.status.state() == "Suspended") {
    return JobEnd{kExitStopped,
                  absl::StrCat("job ", job.name, " is suspended; kubectl muster resume ", job.name,
                               " -n ", job.ns, " continues it")};
  }
  return std::nullopt;
}

}  // namespace muster::cli::kubectl
