#ifndef MUSTER_TESTS_E2E_JOB_OBSERVER_H_
#define MUSTER_TESTS_E2E_JOB_OBSERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/api.h"

namespace muster::tests {

// Watches the jobs and pods of a namespace and records violations of what must hold under every
// leader: a pod created twice, a term or round that decreases, a second membership for a recorded
// round, a committed step that decreases. It reopens watches that end. Thread-safe.
class JobObserver {
 public:
  struct PodHistory {
    std::set<std::string> uids;
    bool bound = false;
  };
  struct JobHistory {
    std::map<std::string, PodHistory> pods;  // every pod that was seen, by name
    int64_t term = 0;
    int64_t round = 0;
    int64_t step = 0;
    int64_t checkpoint = 0;
    std::set<int64_t> rounds;  // numbers of the recorded rounds
    std::string state;

    int bound() const;
  };

  // `api` must outlive this object.
  JobObserver(kube::Api& api, std::string name_space);
  ~JobObserver();
  JobObserver(const JobObserver&) = delete;
  JobObserver& operator=(const JobObserver&) = delete;

  JobHistory Job(const std::string& name);
  // Waits until `done` is true, and returns within a millisecond of the change that makes it so.
  // Returns false after `within`.
  bool WaitUntil(const std::string& job, const std::function<bool(const JobHistory&)>& done,
                 absl::Duration within = absl::Minutes(3));
  // One sentence for each violation.
  std::vector<std::string> broken();

 private:
  void Follow(const kube::ResourceType& type);
  void Take(const kube::ResourceType& type, const Json& object);
  void TakePod(const Json& pod) MUSTER_REQUIRES(mu_);
  void TakeJob(const Json& job) MUSTER_REQUIRES(mu_);
  void Break(const std::string& what) MUSTER_REQUIRES(mu_) { broken_.push_back(what); }

  kube::Api& api_;
  const std::string name_space_;
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  CondVar changed_;
  std::map<std::string, JobHistory> jobs_ MUSTER_GUARDED_BY(mu_);
  std::map<std::string, std::string> memberships_ MUSTER_GUARDED_BY(mu_);  // by job and round
  std::vector<std::string> broken_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_E2E_JOB_OBSERVER_H_
