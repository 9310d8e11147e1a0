#ifndef MUSTER_OPERATOR_KUBE_WRAP_FAULTY_API_H_
#define MUSTER_OPERATOR_KUBE_WRAP_FAULTY_API_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "operator/kube/api_call.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/intercepted_api.h"

namespace muster::kube {

// The probabilities of faults, in [0, 1], drawn once per call.
struct FaultPolicy {
  uint64_t seed = 1;
  double conflict = 0;           // Update, UpdateStatus, Patch, Bind: kAborted, not done
  double unavailable = 0;        // every verb: kUnavailable, not done
  double timeout_before = 0;     // every verb: kDeadlineExceeded, not done
  double timeout_after = 0;      // writes: done, but kDeadlineExceeded
  double too_many_requests = 0;  // every verb: kResourceExhausted, retry after 1 s, not done
  double watch_closed = 0;       // per Next
  double watch_expired = 0;      // per Next
  // A verb never fails more often than this in a row, so that a retry loop always ends.
  int max_in_a_row = 3;
};

// An Api for tests that sometimes fails. The same seed and calls give the same faults. Thread-safe.
class FaultyApi final : public InterceptedApi {
 public:
  FaultyApi(Api& api, FaultPolicy policy)
      : InterceptedApi(api), policy_(policy), random_(policy.seed) {}

  // Makes the next call of `verb` fail with `status`; `done` selects whether it is carried out.
  // Several may be queued.
  void FailNext(Verb verb, absl::Status status, bool done = false);
  void SetPolicy(FaultPolicy policy);
  // Drops these fields from every later status write, as a server with an older definition of the
  // type does.
  void DropStatusFields(std::vector<std::string> fields);
  int64_t calls(Verb verb) const;
  int64_t faults(Verb verb) const;

  absl::StatusOr<Json> UpdateStatus(const ResourceType& type, const Json& object,
                                    const CallOptions& call = {}) override;

 protected:
  absl::Status Intercept(const ApiCall& call, const CallOptions& options, Forward forward) override;
  std::unique_ptr<Watcher> Wrap(const ResourceType& type,
                                std::unique_ptr<Watcher> watcher) override;

 private:
  friend class FaultyWatcher;
  struct Fault {
    absl::Status status;  // OK: no fault
    bool done = false;
  };
  struct Counters {
    int64_t calls = 0;
    int64_t faults = 0;
    int in_a_row = 0;
    std::deque<Fault> scripted;
  };

  Fault Draw(Verb verb);
  Fault Roll(Verb verb) MUSTER_REQUIRES(mu_);
  mutable Mutex mu_;
  FaultPolicy policy_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::string> dropped_ MUSTER_GUARDED_BY(mu_);
  std::mt19937_64 random_ MUSTER_GUARDED_BY(mu_);
  mutable std::map<Verb, Counters> verbs_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_WRAP_FAULTY_API_H_
