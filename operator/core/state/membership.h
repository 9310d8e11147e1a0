#ifndef MUSTER_OPERATOR_CORE_STATE_MEMBERSHIP_H_
#define MUSTER_OPERATOR_CORE_STATE_MEMBERSHIP_H_

#include <set>
#include <string>
#include <vector>

#include "operator/core/state/view.h"
#include "operator/core/state/workers.h"
#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::control {

// Returns the value of status.membership for a round: a hash of its members (index, incarnation,
// pod uid, ranks) in 16 hexadecimal digits and, with a trainer, the digest of the spec by which
// they train. The hash is the same on every machine and version, because it is compared after a
// change of leader. A new leader gets the digest back by TrajectoryOf().
std::string RoundMembership(const std::vector<v1alpha1::Member>& members,
                            const std::string& trajectory);
std::string TrajectoryOf(const std::string& membership);

// Returns the members of a round whose ranks are in the order of `workers`. Every worker must have
// a pod.
std::vector<v1alpha1::Member> MakeMembers(const JobView& view,
                                          const std::vector<const Worker*>& workers);

// Returns the member that has the rank, or null.
const v1alpha1::Member* MemberOfRank(const std::vector<v1alpha1::Member>& members, int rank);

std::set<int> MemberIndices(const std::vector<v1alpha1::Member>& members);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_STATE_MEMBERSHIP_H_
