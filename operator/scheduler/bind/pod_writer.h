#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_POD_WRITER_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_POD_WRITER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "operator/kube/api.h"
#include "operator/objects/caches.h"

namespace muster::control {

// A write about one pod that the scheduling cycle asks for.
struct PodWrite {
  enum class Kind {
    kBind,    // to the node `text`
    kRefuse,  // condition PodScheduled=False/Unschedulable with the message `text`
    kDelete,  // for the reason `text`
    // Writes to `claim`, in the pod's namespace, which waits for its first consumer.
    kSelectNode,  // has the claim's volume made for the node `text`
    kForgetNode,  // undoes that, unless the claim is bound by now
    kGiveVolume,  // gives it the volume `text`, which exists and belongs to no other claim
  };
  Kind kind = Kind::kBind;
  std::string job_uid;
  PodCache::Object pod;
  std::string text;
  std::string claim = "";
  // True if it was tried before, or the job's last bind was refused: it waits behind first tries.
  bool again = false;

  bool is_of_claim() const {
    return kind == Kind::kSelectNode || kind == Kind::kForgetNode || kind == Kind::kGiveVolume;
  }
};
const char* NameOf(PodWrite::Kind kind);

struct PodWritten {
  PodWrite write;
  enum class Outcome {
    kDone,
    kNotDone,  // and never will be: the call was refused, or the pod was replaced
    kUnknown,  // it may have happened, or may still happen
  };
  Outcome outcome = Outcome::kDone;
  // The pod's node after a kBind that is kDone, which may be another than the one asked for.
  std::string node;
  absl::Status status;
};

// Carries out the scheduling cycle's writes, as many at a time as threads call it. There are three
// lanes, each first in, first out: first tries of writes that move pods, repeated ones, and
// refusals, which only explain why pods wait. A lane is served when those before it are empty, and
// the last two never take the last thread, because a server makes such calls wait: so a refused job
// with thousands of pods keeps no other from its nodes. Every write names the pod's UID. A bind
// that the server refuses as a conflict is looked up, because it may be an earlier bind of this
// writer whose answer was lost. Thread-safe.
class PodWriter {
 public:
  // `threads` is the number of calling threads; a single one serves all lanes. `on_written` is
  // called without locks held when a result is ready to be taken.
  PodWriter(kube::Api& api, int threads, std::function<void()> on_written);

  void Add(PodWrite write);
  // Carries out one write; returns false if none may begin.
  bool RunNext();
  // Waits for a write and carries it out. After Shutdown returns false and drops the waiting
  // writes.
  bool WaitAndRun();
  // While held, WaitAndRun begins no write.
  void Hold(bool held);
  void Shutdown();
  // Returns the writes that ended since the last call, in that order.
  std::vector<PodWritten> Take();
  // Number of writes that wait or are under way.
  int64_t pending() const;

 private:
  bool CanBegin() const MUSTER_REQUIRES(mu_) {
    const bool others = !again_.empty() || !refusals_.empty();
    return !first_attempts_.empty() || (others && others_running_ < most_others_);
  }
  void Run(PodWrite write, bool first_try);
  PodWritten Bind(const PodWrite& write);
  PodWritten LookUp(const PodWrite& write, absl::Status conflict);
  absl::Status Refuse(const PodWrite& write);
  absl::Status WriteClaim(const PodWrite& write);
  absl::Status Delete(const PodWrite& write);

  kube::Api& api_;
  const int64_t most_others_;
  const std::function<void()> on_written_;
  mutable Mutex mu_;
  CondVar added_;
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
  bool held_ MUSTER_GUARDED_BY(mu_) = false;
  int64_t running_ MUSTER_GUARDED_BY(mu_) = 0;
  int64_t others_running_ MUSTER_GUARDED_BY(mu_) = 0;  // those of them that are not first tries
  std::deque<PodWrite> first_attempts_ MUSTER_GUARDED_BY(mu_);
  std::deque<PodWrite> again_ MUSTER_GUARDED_BY(mu_);
  std::deque<PodWrite> refusals_ MUSTER_GUARDED_BY(mu_);
  std::vector<PodWritten> written_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_POD_WRITER_H_
