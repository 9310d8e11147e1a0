#include "cli/show/job_description.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/byte_text.h"
#include "base/json_fields.h"
#include "cli/show/event_table.h"
#include "cli/show/job_table.h"
#include "cli/show/progress_line.h"
#include "cli/show/text_table.h"
#include "operator/core/failure/failure_text.h"
#include "operator/core/growth/size_reason.h"
#include "operator/core/state/ledger_book.h"
#include "operator/core/state/spec_values.h"
#include "operator/core/state/tuned_steps.h"
#include "operator/kube/object_meta.h"

namespace muster::cli {
namespace {

using control::TrainingJob;

absl::Time TimeOf(const std::string& text) {
  return kube::ParseTime(text).value_or(absl::InfinitePast());
}

void Add(std::string& out, absl::string_view name, const std::string& value) {
  if (!value.empty()) absl::StrAppendFormat(&out, "%-13s%s\n", name, Printable(value));
}

// A job may have had many changes; the spec and the status have them all.
constexpr int kTuningsShown = 5;

void AddTunings(const TrainingJob& job, std::string& out) {
  const auto& known = job.status.tunings();
  for (int i = std::max(0, known.size() - kTuningsShown); i < known.size(); ++i) {
    Add(out, "Tuned:", control::DescribeTuning(known[i]));
  }
  const auto& asked = job.spec.trainer().tunings();
  for (int i = known.size(); i < asked.size(); ++i) {
    v1alpha1::TuningStatus awaited;
    awaited.set_step(asked[i].from_step());
    if (asked[i].has_learning_rate()) awaited.set_learning_rate(asked[i].learning_rate());
    if (asked[i].has_clip_norm()) awaited.set_clip_norm(asked[i].clip_norm());
    if (asked[i].has_by()) awaited.set_by(asked[i].by());
    Add(out, "To tune:", control::DescribeTuning(awaited));
  }
}

void AddProgress(const TrainingJob& job, const std::optional<v1alpha1::StepReport>& last_step,
                 std::string& out) {
  const auto& progress = job.status.progress();
  Add(out, "Step:", StepsOf(job));
  if (progress.has_loss()) Add(out, "Loss:", absl::StrFormat("%.4f", progress.loss()));
  if (progress.has_validation_loss()) {
    Add(out, "Validation:", absl::StrFormat("%.4f", progress.validation_loss()));
  }
  // A command may leave both out of its reports.
  if (last_step && last_step->gradient_norm() > 0) {
    const std::string scale =
        last_step->has_loss_scale() ? absl::StrCat(", loss scale ", last_step->loss_scale()) : "";
    Add(out, "Gradient:", absl::StrFormat("norm %.4g%s", last_step->gradient_norm(), scale));
  }
  if (last_step && last_step->learning_rate() > 0) {
    Add(out, "Rate:", absl::StrFormat("%.4g (learning rate)", last_step->learning_rate()));
  }
  if (progress.skipped_steps() > 0) {
    Add(out, "Skipped:", absl::StrCat(progress.skipped_steps(), " steps that were not finite"));
  }
  if (progress.spikes() > 0) {
    Add(out, "Spikes:", absl::StrCat(progress.spikes(), " steps far above those before"));
  }
  AddTunings(job, out);
  if (progress.tokens_per_second() > 0) Add(out, "Tokens/s:", Short(progress.tokens_per_second()));
  // The time left was computed when the job last trained.
  if (job.status.state() == "Training") Add(out, "ETA:", progress.eta());
}

void AddCheckpoint(const TrainingJob& job, absl::Time now, std::string& out) {
  const auto& saved = job.status.checkpoint();
  if (!saved.has_step()) return;
  const std::string age = Age(TimeOf(saved.time()), now);
  Add(out, "Checkpoint:",
      absl::StrCat("step ", saved.step(), ", ", saved.uri(),
                   age.empty() ? "" : absl::StrCat(", ", age, " old"),
                   saved.has_interval() ? absl::StrCat(", about every ", saved.interval()) : ""));
}

void AddResume(const TrainingJob& job, std::string& out) {
  const v1alpha1::ResumeStatus& resume = job.status.resume();
  if (!job.status.has_resume() || resume.source() == "Initial") return;
  Add(out, "Went on:",
      absl::StrCat("from ", resume.source(), ", step ", resume.step(), ", in round ",
                   resume.round(), "; ", ByteText(resume.bytes()), " moved in ",
                   ShortDuration(resume.seconds())));
}

void AddFailures(const TrainingJob& job, std::string& out) {
  const auto& failures = job.status.failures();
  if (failures.count() == 0 && failures.ignored() == 0) return;
  const auto& latest = failures.latest();
  Add(out, "Failures:",
      absl::StrCat(failures.count(), ", and ", failures.ignored(),
                   " not counted; the latest: worker ", latest.worker(), ", ", latest.class_(),
                   ", rule ", latest.rule(), ": ", latest.action()));
  // The condition of a job that failed at once says it already.
  const bool said = job.status.state() == "Failed" && failures.count() == 1;
  if (said || !failures.has_first()) return;
  Add(out, "",
      absl::StrCat("the first: ", control::DescribeFailure(failures.first(), failures.evidence())));
}

void AddSection(std::string& out, absl::string_view title, const std::string& text) {
  if (!text.empty()) absl::StrAppend(&out, "\n", title, ":\n", text);
}

void AddGoodput(const TrainingJob& job, std::string& out) {
  const auto goodput = control::GoodputOf(job.status.ledger());
  if (!goodput) return;
  Add(out, "Goodput:",
      absl::StrFormat("%.1f %% of the time did new steps: on nodes for %.1f %%, of that %.1f %%",
                      100 * goodput->ettr, 100 * goodput->scheduling, 100 * goodput->runtime));
}

// Returns "; the price of 25.0 % of the time is not known" if that is so.
std::string Unknown(absl::string_view what, double known, double all) {
  if (!(all > 0) || !(known < 0.9995 * all)) return "";
  return absl::StrFormat("; the %s of %.1f %% of the time is not known", what,
                         100 * (1 - known / all));
}

std::string PartOf(double part, double whole) {
  return absl::StrFormat("%.1f %%", whole > 0 ? 100 * part / whole : 0);
}

void AddCost(const TrainingJob& job, std::string& out) {
  const v1alpha1::CostStatus& cost = job.status.cost();
  if (cost.priced_seconds() > 0) {
    const std::string saved =
        cost.saved_by_spot() > 0
            ? absl::StrFormat(", %.2f saved by spot nodes", cost.saved_by_spot())
            : "";
    Add(out, "Cost:",
        absl::StrCat(absl::StrFormat("%.2f", cost.spent()), cost.currency().empty() ? "" : " ",
                     cost.currency(), ": ", absl::StrFormat("%.2f", cost.lost()), " (",
                     PartOf(cost.lost(), cost.spent()), ") lost by failures", saved,
                     Unknown("price", cost.priced_seconds(), cost.worker_seconds())));
  }
  if (cost.metered_seconds() > 0) {
    Add(out, "Energy:",
        absl::StrCat(absl::StrFormat("%.2f kWh: %.2f", cost.energy_kwh(), cost.energy_lost_kwh()),
                     " (", PartOf(cost.energy_lost_kwh(), cost.energy_kwh()), ") lost by failures",
                     Unknown("power", cost.metered_seconds(), cost.worker_seconds())));
  }
}

std::string Conditions(const TrainingJob& job, absl::Time now) {
  std::vector<Row> rows = {{"TYPE", "STATUS", "REASON", "AGE", "MESSAGE"}};
  for (const auto& condition : job.status.conditions()) {
    rows.push_back({condition.type(), condition.status(), condition.reason(),
                    Age(TimeOf(condition.last_transition_time()), now), condition.message()});
  }
  return rows.size() == 1 ? "" : TextTable(rows);
}

std::string Pods(std::vector<Json> pods, absl::Time now) {
  std::sort(pods.begin(), pods.end(),
            [](const Json& a, const Json& b) { return kube::NameOf(a) < kube::NameOf(b); });
  std::vector<Row> rows = {{"POD", "PHASE", "NODE", "IP", "AGE"}};
  for (const Json& pod : pods) {
    std::string phase = kube::StringAt(pod, {"status", "phase"});
    if (kube::IsTerminating(pod)) phase = "Terminating";
    rows.push_back({kube::NameOf(pod), std::move(phase), kube::StringAt(pod, {"spec", "nodeName"}),
                    kube::StringAt(pod, {"status", "podIP"}),
                    Age(kube::CreationTimeOf(pod).value_or(absl::InfinitePast()), now)});
  }
  return rows.size() == 1 ? "" : TextTable(rows);
}

}  // namespace

std::string LedgerTable(const v1alpha1::LedgerStatus& ledger) {
  const double total = control::TotalSeconds(ledger);
  std::vector<Row> rows = {{"USE", "TIME", "SHARE"}};
  for (const control::TimeUse use : control::AllTimeUses()) {
    const double seconds = control::SecondsOf(ledger, use);
    if (!(seconds > 0)) continue;
    rows.push_back({std::string(control::Name(use)), ShortDuration(seconds),
                    absl::StrFormat("%.1f %%", 100 * seconds / total)});
  }
  return rows.size() == 1 ? "" : TextTable(rows);
}

std::string DescribeState(const TrainingJob& job, bool has_operator) {
  const std::string& state = job.status.state();
  if (state.empty()) return "not seen by an operator";
  return has_operator || IsOver(job) ? state : absl::StrCat(state, " (no operator)");
}

std::string DescribeJob(const TrainingJob& job, const JobSurroundings& around, absl::Time now) {
  std::string out;
  Add(out, "Name:", job.name);
  Add(out, "Namespace:", job.ns);
  Add(out, "Age:", Age(job.creation_time.value_or(absl::InfinitePast()), now));
  Add(out, "State:", DescribeState(job, around.has_operator));
  const auto& workers = job.status.workers();
  const int count = control::WorkerCount(job.spec);
  Add(out, "Workers:",
      absl::StrCat(workers.ready(), " ready of ", workers.desired(),
                   count != workers.desired() ? absl::StrCat("; wanted ", count) : ""));
  if (const std::string spares = control::DescribeSpares(job.spec, job.status); !spares.empty()) {
    Add(out, "Spares:", spares);
  }
  Add(out, "Round:", absl::StrCat(job.status.round(), " (term ", job.status.term(), ")"));
  AddProgress(job, around.last_step, out);
  AddCheckpoint(job, now, out);
  AddResume(job, out);
  AddFailures(job, out);
  AddGoodput(job, out);
  AddCost(job, out);
  AddSection(out, "Time of the ranks", LedgerTable(job.status.ledger()));
  AddSection(out, "Conditions", Conditions(job, now));
  AddSection(out, "Pods", Pods(around.pods, now));
  AddSection(out, "Events", EventTable(around.events, job.name, NamesOf(around.pods), now));
  return out;
}

std::string DescribeCheckpoints(const TrainingJob& job, const std::vector<Json>& events,
                                absl::Time now) {
  std::string out;
  AddCheckpoint(job, now, out);
  if (out.empty()) Add(out, "Checkpoint:", "none yet");
  Add(out, "Kept in:", job.spec.checkpoint().uri());
  std::vector<Json> saves;
  for (const Json& event : events) {
    if (absl::StrContains(StringField(event, "reason"), "Checkpoint")) saves.push_back(event);
  }
  AddSection(out, "Events", EventTable(saves, job.name, {}, now));
  return out;
}

}  // namespace muster::cli
