#ifndef MUSTER_OPERATOR_SCHEDULER_BIND_VOLUME_WAIT_H_
#define MUSTER_OPERATOR_SCHEDULER_BIND_VOLUME_WAIT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "operator/kube/object_meta.h"
#include "operator/scheduler/bind/pod_writer.h"
#include "operator/scheduler/cluster/cluster_model.h"

namespace muster::control {

// Gangs that have places but also claims that wait for their first consumer. Nodes are selected or
// volumes given for all claims at once, and no pod of the gang is bound before all its claims are;
// meanwhile its pods are promised to their nodes. After the deadline all is taken back. Not
// thread-safe.
class VolumeWait {
 public:
  struct Member {
    PodCache::Object pod;
    std::string node;
  };
  struct Outcome {
    std::string job_uid;
    std::vector<Member> members;
    // Empty if every claim is bound and the members may be bound; otherwise the reason why not, and
    // the caller must take back their promises.
    std::string why_not;
  };

  explicit VolumeWait(absl::Duration deadline) : deadline_(deadline) {}

  // Begins to wait; `members` are in the order in which they would be bound. Returns false if there
  // is nothing to wait for.
  bool Begin(const std::string& job_uid, const std::vector<Member>& members,
             const ClusterModel& model, absl::Time now, PodWriter& writer);
  // Notes that a write that Begin asked for will never be done.
  void Failed(const PodWritten& written);
  // Ends the wait without binding the job's gang: Take returns `why`.
  void GiveUp(const std::string& job_uid, const std::string& why);
  // Returns the gangs that need not wait any longer.
  std::vector<Outcome> Take(const ClusterModel& model, absl::Time now, PodWriter& writer);
  bool IsWaiting(const std::string& job_uid) const { return gangs_.count(job_uid) > 0; }

 private:
  struct Gang {
    std::vector<Member> members;
    std::map<kube::ObjectKey, std::string> claims;  // by claim, the node that it is for
    absl::Time since;
    std::string failure;
  };
  std::string WhyNot(const Gang& gang, const ClusterModel& model, absl::Time now) const;
  static bool AreMembers(const std::string& uid, const Gang& gang, const ClusterModel& model);

  const absl::Duration deadline_;
  std::map<std::string, Gang> gangs_;  // by job UID
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_BIND_VOLUME_WAIT_H_
