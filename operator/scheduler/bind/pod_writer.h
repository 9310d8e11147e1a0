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

// What the scheduling cycle wants written about one pod.
struct PodWrite {
  enum class Kind {
    kBind,    // to `text`, a node
    kRefuse,  // condition PodScheduled=False/Unschedulable with the message `text`
    kDelete,  // because of `text`
    // Of `claim`, of the pod's namespace: SelectNode and ForgetNode with the node `text`,
    // GiveVolume with the volume `text` (operator/runtime/claim_writes).
    kSelectNode,
    kForgetNode,
    kGiveVolume,
  };
  Kind kind = Kind::kBind;
  std::string job_uid;
  PodCache::Object pod;
  std::string text;
  std::string claim = "";
  // Tried before, or of a job whose last bind was refused: it waits behind what was not.
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
    kNotDone,  // and will never be: the call was refused, or the pod is no longer this one
    kUnknown,  // it may have happened, or may still happen
  };
  Outcome outcome = Outcome::kDone;
  // kBind, kDone: where the pod is, which may be another node than the one asked for.
  std::string node;
  absl::Status status;
};

// Carries out the scheduling cycle's writes, as many at a time as there are threads that call it.
// There are three lanes, each in the order it was asked for: what moves pods and was not tried
// before, what was, and what only tells pods why they wait. Each goes when nothing of those before
// it is left, and the last two never take the last thread, since theirs are the calls that a server
// lets wait. So a job that is refused with thousands of pods keeps no other from its nodes. Every
// write names the pod's UID; a bind that the server refuses as a conflict is looked up, for it
// may be our own of before, whose answer was lost. Thread-safe.
class PodWriter {
 public:
  // `threads` is how many will call; a single one takes from all lanes. `on_written` is called
  // without locks held when an outcome is there to be taken.
  PodWriter(kube::Api& api, int threads, std::function<void()> on_written);

  void Add(PodWrite write);
  // One write; false when none waits that may begin.
  bool RunNext();
  // Waits for a write and carries it out; false after Shutdown, which leaves what waits undone.
  bool WaitAndRun();
  // While held, WaitAndRun begins nothing.
  void Hold(bool held);
  void Shutdown();
  // Since the last call, in the order they ended.
  std::vector<PodWritten> Take();
  // Waiting and under way.
  int64_t pending() const;

 private:
  bool CanBegin() const MUSTER_REQUIRES(mu_) {
    const bool others = !again_.empty() || !refusals_.empty();
    return !first_tries_.empty() || (others && others_running_ < most_others_);
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
  int64_t others_running_ MUSTER_GUARDED_BY(mu_) = 0;  // of them, those that are no first tries
  std::deque<PodWrite> first_tries_ MUSTER_GUARDED_BY(mu_);
  std::deque<PodWrite> again_ MUSTER_GUARDED_BY(mu_);
  std::deque<PodWrite> refusals_ MUSTER_GUARDED_BY(mu_);
  std::vector<PodWritten> written_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_POD_WRITER_H_
