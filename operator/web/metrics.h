#ifndef MUSTER_OPERATOR_WEB_METRICS_H_
#define MUSTER_OPERATOR_WEB_METRICS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::control {

// How one reconcile ended.
enum class ReconcileResult { kSuccess, kRequeueAfter, kRequeue, kError };

// Figures read when /metrics is asked for.
struct LiveFigures {
  struct Job {
    std::string ns;
    std::string name;
    std::string state;
    int64_t step = 0;
    double loss = 0;
    double tokens_per_second = 0;
    int64_t round = 0;
    int workers_ready = 0;
  };
  std::vector<Job> jobs;
  size_t queue_waiting = 0;
  size_t queue_delayed = 0;
  int64_t queue_adds = 0;
  int64_t queue_retries = 0;
  int agents_attached = 0;
};

// The operator's Prometheus metrics. Labels are bounded: results, reasons from docs/states.md, job
// names. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  void CountReconcile(ReconcileResult result, absl::Duration took);
  void CountRound(const std::string& reason);
  void CountOrder(const std::string& kind);
  void CountApiError(const std::string& code);
  // Prometheus' text format.
  std::string Text(const LiveFigures& figures);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_METRICS_H_
