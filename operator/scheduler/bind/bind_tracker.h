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

// The writes of the scheduling cycle about gangs, until their outcomes are known. A bind whose
// outcome is unknown is tried again on the same node, or given up together with its pod; a refusal
// is written once to all members. The model holds the promises meanwhile. Not thread-safe.
class BindTracker {
 public:
  // `on_change` gets the UID of a job whose members in the model changed, or one of whose binds has
  // ended, whether its outcome is known or not.
  BindTracker(PodWriter& writer, ClusterModel& model, const Clock& clock,
              absl::Duration volume_deadline,
              std::function<void(const std::string& uid)> on_change);

  // Takes in the writes that ended since the last call; returns the number of pods found bound.
  int Take();
  // Repeats writes whose outcome is unknown, and writes refusals that were delayed. Needs
  // no news of the gangs.
  void Repeat();

  // Promises the pods to their nodes and has them bound, once their pending volume claims are
  // bound.
  using Member = VolumeWait::Member;
  void Bind(const std::string& uid, const std::vector<Member>& members);
  // Goes on with gangs that waited for claims. Returns the reason, by job UID, for each gang whose
  // claims cannot be had: its promises are taken back, and it pauses.
  std::map<std::string, std::string> TakeVolumes();
  bool WaitsForVolumes(const std::string& uid) const { return volumes_.IsWaiting(uid); }
  // Writes the refusal to all members at once, so that an autoscaler sees the whole gang. Another
  // sentence about the same members is delayed to limit writes.
  void Refuse(const std::string& uid, const Gang& gang, const std::string& sentence);
  void TakeRefusalBack(const std::string& uid);
  // Deletes the bound members and releases what is held for the rest, which has no place.
  void Undo(const std::string& uid, const Gang& gang);

  // Returns true for a while after a bind was refused or volumes could not be had.
  bool MustPause(const std::string& uid) const;
  // Returns the number of binds that the writer has; pods that wait for volumes are not counted.
  int in_flight(const std::string& uid) const;
  // Drops the state of gangs that are gone.
  void Forget();

 private:
  struct State {
    int in_flight = 0;
    std::set<std::string> refused;  // UIDs of pods whose last bind was refused
    absl::Time not_before = absl::InfinitePast();
    std::string refusal;           // the sentence as last written
    uint64_t refusal_version = 0;  // the version of the gang that it was written for
    absl::Time refused_at = absl::InfinitePast();
    // Resource versions, by UID, of pods that `refusal` was written to and that do not show it yet.
    std::map<std::string, std::string> unconfirmed;
  };
  struct Repeated {
    absl::Time not_before;
    PodWrite write;
  };

  struct DelayedRefusal {
    absl::Time not_before;
    std::string sentence;
  };

  void Settle(const PodWritten& written);
  void Write(const std::string& uid, const Member& member);
  void RepeatUnknown();
  void WriteDelayedRefusals();
  void WriteRefusal(const std::string& uid, const Gang& gang, const std::string& sentence);

  PodWriter& writer_;
  ClusterModel& model_;
  const Clock& clock_;
  const std::function<void(const std::string&)> on_change_;
  VolumeWait volumes_;
  std::map<std::string, State> states_;                     // by job UID
  std::vector<Repeated> to_repeat_;                         // writes whose outcome is unknown
  std::map<std::string, DelayedRefusal> delayed_refusals_;  // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_BIND_TRACKER_H_
