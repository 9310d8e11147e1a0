#include "cli/simulate/sim_report.h"

#include <string>

#include "absl/strings/str_format.h"
#include "cli/simulate/sim_cluster.h"

namespace muster::cli {

int64_t JobsNeverStarted(const SimReport& report) {
  int64_t jobs = 0;
  for (const NeverStarted& told : report.never_started) jobs += told.jobs;
  return jobs;
}

std::string ReportText(const SimReport& report) {
  std::string out = absl::StrFormat(
      "jobs           %d submitted, %d finished, %d never started\n"
      "makespan       %.1f s\n"
      "utilisation    %.1f %% of %g %s\n"
      "fragmentation  %.1f %% of what is free, while jobs wait\n"
      "fairness       %.3f (Jain)\n"
      "preemptions    %d stopped, %d shrunk, %d grown back\n"
      "back-filled    %d\n",
      report.jobs, report.finished, JobsNeverStarted(report), report.makespan,
      100 * report.utilisation,
      static_cast<double>(report.capacity) / (report.resource == kCpuResource ? 1000 : 1),
      report.resource, 100 * report.fragmentation, report.fairness, report.stops, report.shrinks,
      report.grows, report.backfills);
  for (const NeverStarted& told : report.never_started) {
    absl::StrAppendFormat(&out, "never started  %d: %s; %s: %s\n", told.jobs, told.reason,
                          told.first, told.sentence);
  }
  absl::StrAppendFormat(&out, "\n%-24s %8s %10s %10s %10s %10s\n", "wait, s", "jobs", "mean",
                        "median", "95 %", "most");
  for (const auto& [name, waits] : report.waits) {
    absl::StrAppendFormat(&out, "%-24s %8d %10.1f %10.1f %10.1f %10.1f\n", name, waits.jobs,
                          waits.mean, waits.median, waits.p95, waits.most);
  }
  return out;
}

Json ReportJson(const SimReport& report) {
  Json waits = Json::object();
  for (const auto& [name, stats] : report.waits) {
    waits[name] = {{"jobs", stats.jobs},
                   {"meanSeconds", stats.mean},
                   {"medianSeconds", stats.median},
                   {"p95Seconds", stats.p95},
                   {"mostSeconds", stats.most}};
  }
  Json reasons = Json::array();
  for (const NeverStarted& told : report.never_started) {
    reasons.push_back({{"reason", told.reason},
                       {"jobs", told.jobs},
                       {"first", told.first},
                       {"message", told.sentence}});
  }
  return {{"jobs", report.jobs},
          {"finished", report.finished},
          {"neverStarted", JobsNeverStarted(report)},
          {"neverStartedReasons", reasons},
          {"makespanSeconds", report.makespan},
          {"resource", report.resource},
          {"utilisation", report.utilisation},
          {"fragmentation", report.fragmentation},
          {"fairness", report.fairness},
          {"stopped", report.stops},
          {"shrunk", report.shrinks},
          {"grown", report.grows},
          {"backfilled", report.backfills},
          {"cycles", report.cycles},
          {"waits", waits}};
}

}  // namespace muster::cli
