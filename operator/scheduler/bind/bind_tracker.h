#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_BIND_TRACKER_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_BIND_TRACKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "operator/objects/caches.h"
#include "operator/scheduler/bind/pod_writer.h"
#include "operator/scheduler/bind/volume_wait.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {

// What the scheduling cycle has written about gangs, until its outcome is known: a bind whose
// outcome is unknown is tried again on the same node, or given up with its pod; a refusal is told
// once on all members. The model holds what is promised meanwhile. Not thread-safe.
class GangWrites {
 public:
  // `on_change` gets the UID of a job whose members in the model changed, or one of whose binds has
  // come to an end, whether its outcome is known or not.
  GangWrites(PodWriter& writer, ClusterModel& model, const Clock& clock,
             absl::Duration volume_deadline, std::function<void(const std::string& uid)> on_change);

  // What was written since the last call; returns the number of pods that were found bound.
  int Take();
  // Tries again what is unknown, and tells what it still owes to pods. Needs no news of the gangs.
  void Repeat();

  // Promises the pods to their nodes and has them bound, once the claims that wait for them are.
  using Member = VolumeWait::Member;
  void Bind(const std::string& uid, const std::vector<Member>& members);
  // Goes on with gangs whose claims were waited for. Those whose claims cannot be had are told, by
  // the job's UID, with the reason: their promises are taken back, and they pause.
  std::map<std::string, std::string> TakeVolumes();
  bool WaitsForVolumes(const std::string& uid) const { return volumes_.IsWaiting(uid); }
  // All members at once, so that an autoscaler sees the whole gang. Another sentence about the same
  // members is not written at once, but by and by.
  void Refuse(const std::string& uid, const Gang& gang, const std::string& sentence);
  void TakeRefusalBack(const std::string& uid);
  // The bound members go, and nothing is held for the rest, which has no place.
  void Undo(const std::string& uid, const Gang& gang);

  // A bind was refused just now: the next is not tried at once.
  bool MustPause(const std::string& uid) const;
  // Binds that the writer has; pods that wait for their volumes have none yet.
  int in_flight(const std::string& uid) const;
  // Drops what is known of gangs that are gone.
  void Forget();

 private:
  struct State {
    int in_flight = 0;
    std::set<std::string> refused;  // by UID, the pods whose last bind was
    absl::Time not_before = absl::InfinitePast();
    uint64_t told_version = 0;
    std::string told;
    absl::Time told_at = absl::InfinitePast();
    // By UID, the pods that were told so and do not show it yet: their versions then.
    std::map<std::string, std::string> telling;
  };
  struct Repeated {
    absl::Time not_before;
    PodWrite write;
  };

  struct Owed {
    absl::Time not_before;
    std::string sentence;
  };

  void Settle(const PodWritten& written);
  void Write(const std::string& uid, const Member& member);
  void RepeatUnknown();
  void TellOwed();
  void Tell(const std::string& uid, const Gang& gang, const std::string& sentence);

  PodWriter& writer_;
  ClusterModel& model_;
  const Clock& clock_;
  const std::function<void(const std::string&)> on_change_;
  VolumeWait volumes_;
  std::map<std::string, State> states_;  // by job UID
  std::vector<Repeated> to_repeat_;      // writes whose outcome is unknown
  std::map<std::string, Owed> owed_;     // refusals, by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_BIND_TRACKER_H_
