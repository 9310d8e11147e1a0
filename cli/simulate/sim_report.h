#ifndef MUSTER_CLI_SIMULATE_SIM_REPORT_H_
#define MUSTER_CLI_SIMULATE_SIM_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace muster::cli {

// The waits of a class's jobs from submission to first start, in seconds.
struct WaitStats {
  int64_t jobs = 0;
  double mean = 0;
  double median = 0;
  double p95 = 0;
  double most = 0;
};

// The resources in use, by queue, from `at` until the next point.
struct OccupancyPoint {
  double at = 0;  // seconds since the first submission
  int64_t waiting = 0;
  std::vector<int64_t> used;
};

// A period in which a job trained with `workers` workers, in seconds since the first submission.
struct TrainingSpan {
  size_t job = 0;  // its index in the trace
  double from = 0;
  double to = 0;
  int workers = 0;
};

// Jobs that never started for one reason, which the last decision about each gave.
struct NeverStarted {
  std::string reason;  // as named in operator/queue
  int64_t jobs = 0;
  std::string first;     // name of the first one submitted
  std::string sentence;  // the explanation for that one
};

struct SimReport {
  int64_t jobs = 0;
  int64_t finished = 0;
  std::vector<NeverStarted> never_started;  // by descending number of jobs
  double makespan = 0;                      // seconds, from the first submission to the last end
  // The resource that the metrics are about: GPUs, or CPU in a cluster without GPUs.
  std::string resource;
  int64_t capacity = 0;
  double utilisation = 0;  // of the capacity, over the makespan
  // The share of free resources that was on partly used nodes while jobs waited.
  double fragmentation = 0;
  // Jain's index over the queues' usage by weight while they had waiting jobs; 1 is equal.
  double fairness = 1;
  int64_t stops = 0;
  int64_t shrinks = 0;
  int64_t grows = 0;
  int64_t backfills = 0;
  int64_t cycles = 0;
  std::map<std::string, WaitStats> waits;  // by class
  std::vector<std::string> queues;
  std::vector<OccupancyPoint> occupancy;
  std::vector<TrainingSpan> spans;  // by end time
};

int64_t JobsNeverStarted(const SimReport& report);

// The report as text for people, and as JSON for programs. Pure.
std::string ReportText(const SimReport& report);
Json ReportJson(const SimReport& report);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SIMULATE_SIM_REPORT_H_
