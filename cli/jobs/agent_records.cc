#include "cli/jobs/agent_records.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

#include "absl/strings/match.h"
#include "agent/worker/stream/unsent_reports.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "operator/coordinator/stream/agent_bounds.h"

namespace muster::cli {
namespace {

using v1alpha1::CheckpointReport;
using v1alpha1::StepReport;

std::tuple<int64_t, int64_t> Order(const v1alpha1::Version& version) {
  return {version.attempt(), version.step()};
}

void ForEachFile(Files& files, const JobPaths& paths,
                 const std::function<void(const std::string&)>& visit) {
  const auto pods = files.List(paths.pods());
  if (!pods.ok()) return;  // none was ever started
  for (const DirectoryEntry& pod : *pods) {
    const std::string path = JoinPath(JoinPath(paths.pods(), pod.name), agent::kUnsentReportsFile);
    if (Exists(files, path)) visit(path);
  }
}

void Take(const v1alpha1::AgentMessage& message, AgentRecords& records) {
  for (const StepReport& step : message.steps().steps()) records.steps.push_back(step);
  if (!message.has_checkpoint()) return;
  const CheckpointReport& saved = message.checkpoint();
  if (saved.phase() != CheckpointReport::WRITTEN) return;
  if (!records.saved || Order(records.saved->version()) < Order(saved.version())) {
    records.saved = saved;
  }
}

}  // namespace

AgentRecords ReadAgentRecords(Files& files, const JobPaths& paths) {
  AgentRecords records;
  ForEachFile(files, paths, [&](const std::string& path) {
    const auto reports = agent::ReadUnsentReports(files, path);
    if (!reports.ok()) {
      MUSTER_LOG(WARN, "reports of an agent not read", {"error", reports.status()});
      return;
    }
    for (v1alpha1::AgentMessage message : *reports) {
      // The file lies where the job's own processes can write: it is believed as far as a stream
      // is.
      if (const absl::Status bounded = control::Bound({}, message); !bounded.ok()) {
        MUSTER_LOG(WARN, "reports of an agent not read", {"error", bounded});
        continue;
      }
      Take(message, records);
    }
  });
  std::stable_sort(records.steps.begin(), records.steps.end(),
                   [](const StepReport& a, const StepReport& b) {
                     return Order(a.version()) < Order(b.version());
                   });
  return records;
}

absl::Status RemoveAgentRecords(Files& files, const JobPaths& paths) {
  absl::Status status;
  ForEachFile(files, paths, [&](const std::string& path) { status.Update(files.Remove(path)); });
  return status;
}

absl::Status AddTo(History& history, const AgentRecords& records) {
  for (const StepReport& step : records.steps) {
    const auto last = history.steps().rbegin();
    const bool known =
        last != history.steps().rend() && Order(step.version()) <= Order(last->second.version());
    if (!known) MUSTER_RETURN_IF_ERROR(history.Add(step));
  }
  return absl::OkStatus();
}

void ShowIn(control::TrainingJob& job, const AgentRecords& records) {
  if (!records.steps.empty()) {
    const StepReport& last = records.steps.back();
    job.status.mutable_progress()->set_step(last.version().step());
    job.status.mutable_progress()->set_loss(last.loss());
  }
  if (!records.saved) return;
  v1alpha1::CheckpointStatus& checkpoint = *job.status.mutable_checkpoint();
  if (Order(records.saved->version()) <= std::tuple(checkpoint.attempt(), checkpoint.step())) {
    return;
  }
  const std::string& directory = records.saved->directory();
  checkpoint.set_step(records.saved->version().step());
  checkpoint.set_attempt(records.saved->version().attempt());
  checkpoint.set_uri(absl::StartsWith(directory, "/")
                         ? directory
                         : JoinPath(job.spec.checkpoint().uri(), directory));
}

}  // namespace muster::cli
