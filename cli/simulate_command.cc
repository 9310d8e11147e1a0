// `muster simulate`: runs a workload on an imaginary cluster, with the operator's own decisions.

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/commands.h"
#include "cli/flags/flags.h"
#include "cli/simulate/jobs_svg.h"
#include "cli/simulate/occupancy_svg.h"
#include "cli/simulate/sim_cluster.h"
#include "cli/simulate/sim_report.h"
#include "cli/simulate/sim_trace.h"
#include "cli/simulate/simulator.h"
#include "operator/queue/book/decision.h"
#include "operator/queue/decision_input.h"
#include "operator/scheduler/record/decision_recorder.h"
#include "operator/scheduler/record/decision_ring.h"

namespace muster::cli {
namespace {

// The cluster file overrides whatever a generator's file also defines.
absl::StatusOr<SimCluster> ClusterFor(const Flags& flags, const SimTrace& trace) {
  SimCluster cluster;
  if (trace.cluster) cluster = *trace.cluster;
  if (flags.Has("cluster")) {
    const std::string file = flags.Get("cluster", "");
    MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), file));
    MUSTER_ASSIGN_OR_RETURN(SimCluster given, ParseCluster(text, file));
    if (given.queues.empty()) given.queues = cluster.queues;
    cluster = std::move(given);
  }
  if (cluster.inventory.nodes.empty()) {
    return absl::InvalidArgumentError("the trace has no topology: give --cluster FILE");
  }
  return cluster;
}

// Records every cycle as the operator does. Null without a directory.
std::unique_ptr<control::DecisionRecorder> RecorderFor(const Flags& flags) {
  if (!flags.Has("record")) return nullptr;
  return std::make_unique<control::DecisionRecorder>(
      control::DecisionRing(FileSystem(), flags.Get("record", "")));
}

std::string DecisionLine(absl::Time now, const control::Decision& decision) {
  return absl::StrFormat("%.3f %s %s %s: %s\n", absl::ToDoubleSeconds(now - absl::UnixEpoch()),
                         std::string(control::Name(decision.action)), decision.job,
                         std::string(control::Name(decision.reason)),
                         control::Sentence(decision, now));
}

absl::Status RunSimulation(const Flags& flags) {
  const std::string file = flags.Get("trace", "");
  if (file.empty()) return absl::InvalidArgumentError("give --trace FILE");
  MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), file));
  MUSTER_ASSIGN_OR_RETURN(const SimTrace trace, ParseTrace(text, file));
  MUSTER_ASSIGN_OR_RETURN(const SimCluster cluster, ClusterFor(flags, trace));
  std::string decisions;
  DecisionObserver observer;
  if (flags.Has("decisions")) {
    observer = [&decisions](absl::Time now, const control::Decision& decision) {
      decisions += DecisionLine(now, decision);
    };
  }
  const std::unique_ptr<control::DecisionRecorder> recorder = RecorderFor(flags);
  CycleObserver cycles;
  if (recorder != nullptr) {
    cycles = [&](control::DecisionInput input, const std::vector<control::Decision>& decided) {
      recorder->Note(std::move(input), decided);
      recorder->RunOnce();
    };
  }
  const auto start = std::chrono::steady_clock::now();
  const SimReport report = Simulate(cluster, trace.jobs, observer, cycles);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (flags.Has("svg")) {
    const std::string svg = OccupancySvg(report, BaseName(file));
    MUSTER_RETURN_IF_ERROR(WriteFileAtomically(FileSystem(), flags.Get("svg", ""), svg));
  }
  if (flags.Has("jobs-svg")) {
    MUSTER_RETURN_IF_ERROR(WriteFileAtomically(FileSystem(), flags.Get("jobs-svg", ""),
                                               JobsSvg(report, trace.jobs, BaseName(file))));
  }
  if (flags.Has("decisions")) {
    MUSTER_RETURN_IF_ERROR(
        WriteFileAtomically(FileSystem(), flags.Get("decisions", ""), decisions));
  }
  if (recorder != nullptr && recorder->dropped() > 0) {
    return absl::UnavailableError(absl::StrCat(recorder->dropped(), " decisions of ",
                                               recorder->dropped() + recorder->kept(),
                                               " could not be kept"));
  }
  if (flags.Has("json")) {
    std::printf("%s\n", DumpJson(ReportJson(report)).c_str());
  } else {
    std::printf("%s", ReportText(report).c_str());
    std::printf("\nsimulated in %.2f s: %.0f jobs a second, %d cycles\n", seconds,
                static_cast<double>(report.jobs) / seconds, static_cast<int>(report.cycles));
  }
  if (report.never_started.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(JobsNeverStarted(report), " of ", report.jobs,
                   " jobs never started; the report says why, by reason"));
}

}  // namespace

std::vector<FlagSpec> SimulateFlags() {
  return {
      {"cluster", "nodes, queues and options, as YAML"},
      {"trace", "the jobs: CSV, or the YAML of Kueue's performance generator"},
      {"svg", "draw the use of the cluster over time, by queue, into this file"},
      {"jobs-svg", "draw when each of up to 60 jobs waited and trained into this file"},
      {"decisions", "write each decision as a line to this file"},
      {"record", "record the inputs of each decision in this directory, for muster replay"},
      {"json", "print the report as JSON", /*is_switch=*/true},
  };
}

int SimulateMain(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Flags> flags = Flags::Parse(arguments, SimulateFlags());
  if (!flags.ok()) return Fail(flags.status());
  const absl::Status status = RunSimulation(*flags);
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace muster::cli
